#!/usr/bin/env bash
# Check observations.txt and myURLS.pages and put them, and nothing else, into GTLOGIN_p3.zip, the file to hand in.
# Every problem is printed as file:line: what is wrong; what to do. Then nothing is written and the exit status is 2.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=$ROOT/.venv/bin/python

usage() {
    cat <<'END'
usage: ./scripts/submission.sh [--force] [--dir DIRECTORY] GTLOGIN

  GTLOGIN     your login name, as in gburdell3: makes gburdell3_p3.zip
  --force     replace a zip of that name that is there already
  --dir       where observations.txt and myURLS.pages are, and the zip goes (the project)
END
}

bad_use() {
    echo "submission.sh: $1; see ./scripts/submission.sh --help" >&2
    exit 2
}

login=
directory=$ROOT
force=()
while (($#)); do
    case $1 in
        --force) force=(--force) ;;
        --dir)
            (($# >= 2)) || bad_use "--dir needs a value"
            directory=$(realpath "$2")
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        -*) bad_use "unknown option: $1" ;;
        *)
            [[ -z $login ]] || bad_use "one login name, not two: $login $1"
            login=$1
            ;;
    esac
    shift
done
[[ -n $login ]] || bad_use "give your login name"
[[ $login =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$ ]] ||
    bad_use "'${login:0:80}' is no login name (letters, digits, '.', '_', '-'; at most 64)"
[[ -x $PYTHON ]] || { echo "$ROOT/.venv: no Python environment yet; run: sudo $ROOT/scripts/setup.sh" >&2; exit 2; }
cd "$ROOT"
exec "$PYTHON" -m harness.course.submission ${force[@]+"${force[@]}"} "$directory" "$login"
