#!/usr/bin/env bash
# What the footnotes asked: how much of TFO's gain connections opened ahead of need eat (--predict), and what it gains
# over HTTP/1.0, 1.1 and 2, without and with TLS, on the same pages in the same network. One run.sh for each, then one
# table of all. What is measured already is not measured again: type the same once more to go on after an end.
#
#   sudo ./experiments/all.sh                   100 ms RTT, three loads
#   sudo ./experiments/all.sh --delays 10 --quick       or any other options of run.sh
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

FOLDER=footnotes
DEFAULTS=(--delays 50)

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

fail() {
    echo "all.sh: $1" >&2
    exit "${2:-2}"
}

# Results belong to the user who called sudo.
as_user() {
    if [[ -n ${SUDO_UID:-} ]]; then
        # shellcheck disable=SC2153  # sudo sets both
        setpriv --reuid "$SUDO_UID" --regid "$SUDO_GID" --init-groups -- "$@"
    else
        "$@"
    fi
}

# Measure the pages NAME with these options of run.sh, and keep the results as footnotes/SETTING.
measure() {
    local setting=$1 kept=$FOLDER/$1 wanted
    shift
    folders+=("$kept")
    wanted=$(printf '%s\n' --name "$@" "${given[@]}")
    if [[ -e $kept ]]; then
        [[ $(as_user cat "$kept/client/run.options") == "$wanted" ]] ||
            fail "$kept: was measured with other options; move $FOLDER/ away"
        echo "all.sh: $setting is there already"
        return
    fi
    echo "all.sh: $setting"
    if is_in_client "$wanted"; then
        ./run.sh --resume || not_all "$setting" $?
    else
        ./run.sh --name "$@" "${given[@]}" || again "$setting" $?
    fi
    # After --dry-run, say, client/ has what was there before.
    is_in_client "$wanted" || fail "$setting: nothing was measured; leave out --dry-run and --help"
    keep "$kept"
}

# is_in_client OPTIONS: client/ has the loads of a run with these options.
is_in_client() { [[ -f client/run.options && $(as_user cat client/run.options) == "$1" ]]; }

# What failed may have failed by accident.
again() {
    (($2 == 1)) || not_all "$@"
    ./run.sh --resume || not_all "$1" $?
}

not_all() {
    fail "$1: not all was measured; type the same again to go on" "$2"
}

# client/ goes last: as long as it is there, an interrupted move is found and ended by the next call.
keep() {
    local result
    as_user mkdir -p "$1.part/output-figures"
    for result in serverlogs output-figures/*.{png,svg,pdf,html} client; do
        [[ ! -e $result ]] || as_user mv -T -- "$result" "$1.part/$result"
    done
    as_user mv -T -- "$1.part" "$1"
}

case "${1-}" in
    -h | --help) usage; exit 0 ;;
    --version) exec ./tfo.py --version ;;
esac
[[ $(id -u) -eq 0 ]] || fail "needs root for network namespaces; run: sudo ./experiments/all.sh"
given=("$@")
(($#)) || given=("${DEFAULTS[@]}")
[[ " ${given[*]}" != *" --name"* ]] || fail "--name: measures Paper, and the same pages over TLS; leave it out"
as_user mkdir -p "$FOLDER"
./scripts/setup.sh
as_user ./scripts/make_pages.py --name Paper
as_user ./scripts/make_pages.py --name PaperTLS --https

SETTINGS=(
    "http-1.0 Paper --http 1.0"
    "http-1.0-predict Paper --http 1.0 --predict"
    "http-1.1 Paper --http 1.1"
    "http-1.1-predict Paper --http 1.1 --predict"
    "tls-1.1 PaperTLS --http 1.1"
    "tls-1.1-predict PaperTLS --http 1.1 --predict"
    "tls-h2 PaperTLS --http h2"
    "tls-h2-predict PaperTLS --http h2 --predict"
)
folders=()
for setting in "${SETTINGS[@]}"; do
    read -ra words <<<"$setting"
    measure "${words[@]}"
done
as_user ./experiments/side_by_side.py "${folders[@]}"
