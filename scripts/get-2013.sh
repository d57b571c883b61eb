#!/usr/bin/env bash
# Get the paper's four pages as they were recorded in March 2013, from the public repository of that time, and install
# them as Paper2013.pages, Paper2013/ and Paper2013.fetchlog/: either all three of them or none. What is there already
# is never replaced.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPOSITORY=https://github.com/jfbastien/tcp-fastopen
NAME=Paper2013
PARTS=("$NAME" "$NAME.fetchlog" "$NAME.pages")    # the list of pages last: without it nothing is there to measure

usage() {
    cat <<END
usage: ./scripts/get-2013.sh [--dir DIRECTORY] [REPOSITORY]

  REPOSITORY  where to clone from: a URL or a local clone ($REPOSITORY)
  --dir       where the pages go (the project)

Then measure them:  sudo ./run.sh --name $NAME
END
}

fail() {
    echo "get-2013.sh: $1" >&2
    exit "${2:-2}"
}

repository=
directory=$ROOT
while (($#)); do
    case $1 in
        --dir)
            (($# >= 2)) || fail "--dir needs a value; see ./scripts/get-2013.sh --help"
            directory=$2
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        -*) fail "unknown option: $1; see ./scripts/get-2013.sh --help" ;;
        *)
            [[ -z $repository ]] || fail "one repository, not two: $repository $1"
            repository=$1
            ;;
    esac
    shift
done
repository=${repository:-$REPOSITORY}

command -v git >/dev/null || fail "git is not installed; run: sudo apt-get install git"
[[ -d $directory && -w $directory ]] || fail "$directory: not a directory that can be written; give another --dir"
for part in "${PARTS[@]}"; do
    [[ ! -e $directory/$part && ! -L $directory/$part ]] ||
        fail "$directory/$part: is there already; remove it to get the pages again"
done

work=$(mktemp -d "$directory/.$NAME-XXXXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Files of a stranger: no link may come out of the clone. Only what is wanted is checked out.
wanted=(Paper Paper.fetchlog Paper.pages)
shallow=(--depth 1)
[[ ! -d $repository ]] || shallow=()    # git would warn that a local clone is whole anyway
{
    git -c core.symlinks=false clone --quiet --no-checkout "${shallow[@]}" -- "$repository" "$work/clone" &&
        git -C "$work/clone" -c core.symlinks=false checkout --quiet HEAD -- "${wanted[@]}"
} 2>"$work/complaint" || fail "$repository: cannot be cloned ($(tail -n 1 "$work/complaint"))" 1
for part in "${wanted[@]}"; do
    [[ -e $work/clone/$part && ! -L $work/clone/$part ]] ||
        fail "$repository: has no $part; give a clone of $REPOSITORY"
    mv "$work/clone/$part" "$work/${part/Paper/$NAME}"
done
[[ -d $work/$NAME && -d $work/$NAME.fetchlog && -f $work/$NAME.pages ]] ||
    fail "$repository: Paper and Paper.fetchlog must be directories, and Paper.pages a file"
chmod -R u+rwX,go+rX,go-w "${PARTS[@]/#/$work/}"
if ((EUID == 0)) && [[ ${SUDO_UID:-} =~ ^[0-9]+$ && ${SUDO_GID:-} =~ ^[0-9]+$ ]]; then
    chown -R "$SUDO_UID:$SUDO_GID" "${PARTS[@]/#/$work/}"
fi

trap '' INT TERM HUP    # three renames, some microseconds
for part in "${PARTS[@]}"; do
    mv -nT "$work/$part" "$directory/$part"
done
for part in "${PARTS[@]}"; do
    [[ ! -e $work/$part ]] || fail "$directory/$part: came while the pages were got; remove it and try again" 1
done
echo "$(grep -c . "$directory/$NAME.pages") pages in $directory/$NAME.pages; measure them: sudo ./run.sh --name $NAME"
