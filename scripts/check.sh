#!/usr/bin/env bash
# Every static check: ruff, mypy, import-linter, shellcheck, and the C compiler's warnings as errors. Their settings, and each exemption
# with its reason, are in pyproject.toml. All of them run, whatever one finds. Type: ./scripts/check.sh
# Exit status: 0 nothing was found, 1 something was, 2 bad use or a tool is missing.
set -euo pipefail

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

case "${1-}" in -h | --help) usage; exit 0 ;; esac
if (($#)); then
    echo "check: unknown argument: $1; see ./scripts/check.sh --help" >&2
    exit 2
fi
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=.venv/bin/python
status=0

# check NAME COMMAND...: run COMMAND and remember whether it was content.
check() {
    local name=$1
    shift
    printf 'check: %s\n' "$name"
    "$@" || {
        printf 'check: %s failed: %s\n' "$name" "$*" >&2
        status=1
    }
}

if ! "$PYTHON" -c 'import ruff, mypy, importlinter' 2>/dev/null || ! command -v shellcheck >/dev/null; then
    echo "check: ruff, mypy, import-linter or shellcheck is missing; run: sudo ./scripts/setup.sh --tests" >&2
    exit 2
fi

# imports: what imports what, by the layers in pyproject.toml. A report of a screen only when something is wrong.
# shellcheck disable=SC2317  # called through check
imports() {
    local report
    report=$("${PYTHON%/*}/lint-imports" --no-logo --no-cache 2>&1) || { printf '%s\n' "$report"; return 1; }
}

# What git would commit, so that neither results nor the environment are searched; without git, what find sees.
files() {
    git ls-files --cached --others --exclude-standard 2>/dev/null || find . -path ./.venv -prune -o -type f -print
}
mapfile -t SHELL_SCRIPTS < <(files | while read -r file; do
    if [[ -f $file ]] && head -n 1 "$file" 2>/dev/null | tr -d '\0' | grep -Eq '^#!.*\b(ba)?sh\b'; then
        printf '%s\n' "$file"
    fi
done)

# mypy takes as long as all the others together, so it runs beside them.
mypy_report=$(mktemp)
mypy=
trap '[[ -z $mypy ]] || kill "$mypy" 2>/dev/null || true; rm -f "$mypy_report"' EXIT    # Ctrl-C does not end a job behind it
"$PYTHON" -m mypy --no-error-summary >"$mypy_report" 2>&1 &
mypy=$!
# shellcheck disable=SC2317  # called through check
types() {
    local found=0
    wait "$mypy" || found=$?
    mypy=
    ((!found)) || cat "$mypy_report"
    return "$found"
}

check "ruff" "$PYTHON" -m ruff check --quiet .
check "import-linter" imports
check "shellcheck" shellcheck "${SHELL_SCRIPTS[@]}"
for source in tfo-test/*.c scripts/uml/*.c experiments/*.c; do
    [[ -f $source ]] || continue
    check "gcc $source" gcc -O2 -Wall -Wextra -Wshadow -Werror -fPIC -c -o /dev/null "$source"
done
check "mypy" types
exit "$status"
