#!/usr/bin/env bash
# Run a command in a kernel of its own: User-mode Linux, which has netem whether or not this machine's kernel has it.
# See --help. The kernel is an ordinary process: it needs neither root nor KVM, and boots in about two seconds.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
KERNEL=/usr/bin/linux.uml
BOOT_TIMEOUT_S=60
OWN_FAILURE=125                 # as timeout(1) does: told apart from most commands' own failures

usage() {
    cat <<'END'
usage: ./scripts/uml.sh [--memory MB] [--out DIRECTORY] COMMAND [ARGUMENT...]

Runs COMMAND as root of a User-mode Linux kernel, in the current directory, with this environment and without standard
input. It sees this machine's files and can change none of them: the project's directory can be written to, but what is
written there, and in /tmp, /run and /dev/shm, is gone at the end. It has no network but its own loopback.

  --out DIRECTORY  what is written there is written on this machine (made when missing; may be given again)
  --memory MB      memory of that kernel (1024); only what is used is taken

Exit status: COMMAND's; 2 when something you gave is wrong; 125 when the kernel did not start or ended too soon.
END
}

bad_use() {
    printf 'uml.sh: %s; see ./scripts/uml.sh --help\n' "$1" >&2
    exit 2
}

memory_mb=1024
outs=()
while (($#)); do
    case $1 in
        --memory | --out)
            (($# >= 2)) || bad_use "$1 needs a value"
            if [[ $1 == --memory ]]; then memory_mb=$2; else outs+=("$2"); fi
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        -*) bad_use "unknown option: $1" ;;
        *) break ;;
    esac
    shift
done
(($#)) || bad_use "give a command"
[[ $memory_mb =~ ^[1-9][0-9]{2,5}$ ]] || bad_use "--memory: '$memory_mb' is not a number of MB from 100 on"
if [[ ! -x $KERNEL ]] || ! command -v modprobe >/dev/null; then
    echo "uml.sh: user-mode-linux or kmod is not installed; run: sudo ./scripts/setup.sh --tests; only Debian on x86_64 has it" >&2
    exit 2
fi

# Its memory is a file without a name. Prefer one that is memory; containers often have a small /dev/shm.
memory_dir=
for directory in /dev/shm "${TMPDIR:-/tmp}" /var/tmp; do
    free_kb=$(df --output=avail "$directory" 2>/dev/null | tail -n 1) || continue
    if ((free_kb > memory_mb * 1024)) && [[ ",$(findmnt -no OPTIONS -T "$directory")," != *,noexec,* ]]; then
        memory_dir=$directory
        break
    fi
done
[[ $memory_dir ]] || bad_use "no room for $memory_mb MB in /dev/shm, ${TMPDIR:-/tmp} or /var/tmp; give a smaller --memory"

kernel=
followers=()
# What we started and made goes, in whatever way we end. Its processes are all in one group, since it is a job (set -m).
# shellcheck disable=SC2317  # called by the traps
clean_up() {
    if [[ $kernel ]]; then
        kill -KILL -- "-$kernel" 2>/dev/null || true
        wait "$kernel" 2>/dev/null || true
    fi
    if ((${#followers[@]})); then
        kill "${followers[@]}" 2>/dev/null || true
    fi
    rm -rf "$state"
}

# shellcheck disable=SC2317  # called by the traps
stop() {
    trap '' INT TERM HUP
    clean_up
    trap - EXIT "$1"
    kill -"$1" $$
}

temporary=${TMPDIR:-/tmp}
[[ $temporary != *[[:space:]]* ]] || temporary=/tmp     # it goes through the kernel's command line
state=$(mktemp -d "$temporary/tfo-lab-uml-XXXXXX")
trap clean_up EXIT
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064  # the signal's name is meant to be filled in now
    trap "stop $signal" "$signal"
done

# fail MESSAGE: the kernel did not do what it should; the last word is its own.
fail() {
    local said
    said=$(grep -am 1 'Kernel panic' "$state/console" || grep -av '^[[:space:]]*$' "$state/console" | tail -n 1) || true
    printf 'uml.sh: %s: %s\n' "$1" "${said:-it said nothing}" >&2
    exit "$OWN_FAILURE"
}

# What scripts/uml/init.sh reads: where it is, and the words env(1) is given.
cp "$ROOT/scripts/uml/init.sh" "$state/init"
printf '%s' "$ROOT" >"$state/root"
printf '%s' "$PWD" >"$state/directory"
: >"$state/outs"
for out in ${outs[@]+"${outs[@]}"}; do
    mkdir -p "$out" || bad_use "--out: $out cannot be made"
    printf '%s\0' "$(realpath "$out")" >>"$state/outs"
done
{ env -0 -u TMPDIR -u TMP -u TEMP; printf '%s\0' "$@"; } >"$state/words"
: >"$state/stdout"
: >"$state/stderr"
: >"$state/console"
gcc -O1 -shared -fPIC -o "$state/xstate.so" "$ROOT/scripts/uml/xstate.c" -ldl || bad_use "gcc failed"

# Its processes end with it, and it ends with us, even by SIGKILL: for the former root can give it a PID namespace. The
# first process there is a shell, since a first process does not die of the SIGABRT that a panic ends in.
together=()
# shellcheck disable=SC2016  # the inner shell's arguments
((EUID != 0)) || together=(unshare --pid --fork --kill-child sh -c '"$@"; exit' sh)
# It keeps a file of ours open for each that is in its cache.
ulimit -Sn "$(ulimit -Hn)"
set -m
setpriv --pdeathsig KILL -- ${together[@]+"${together[@]}"} env -i "TMPDIR=$memory_dir" "LD_PRELOAD=$state/xstate.so" "$KERNEL" "mem=${memory_mb}M" \
    root=/dev/root rootfstype=hostfs ro "init=$state/init" "tfo_lab_state=$state" "uml_dir=$state/" umid=kernel \
    con=null con0=null,fd:1 ssl=null quiet </dev/null >"$state/console" 2>&1 &
kernel=$!
set +m

# Its output as it comes. tail ends when the kernel has, and with us, even by SIGKILL: a kernel that nobody reaps (PID 1
# of a container often does not) has not ended in tail's eyes.
follow=(setpriv --pdeathsig KILL -- tail -c +1 -s 0.1 -f --pid="$kernel")
"${follow[@]}" "$state/stdout" &
followers+=($!)
"${follow[@]}" "$state/stderr" >&2 &
followers+=($!)

for ((tenths = 0; tenths < BOOT_TIMEOUT_S * 10; tenths++)); do
    if [[ -e $state/booted ]] || ! kill -0 "$kernel" 2>/dev/null; then break; fi
    sleep 0.1
done
if [[ ! -e $state/booted ]]; then
    if kill -0 "$kernel" 2>/dev/null; then fail "User-mode Linux did not boot in $BOOT_TIMEOUT_S s"; fi
    fail "User-mode Linux did not boot"
fi
wait "$kernel" || true
kernel=
wait "${followers[@]}" || true
followers=()
[[ -s $state/status ]] || fail "User-mode Linux ended before the command did"
exit "$(<"$state/status")"
