#!/usr/bin/env bash
# Install what TFO Lab needs and is not there yet: packages of Debian 12 or Ubuntu 22.04/24.04, the Python environment
# .venv, and the browser's shim tfo-test/chrome_shim.so. When everything is there it installs nothing and touches no
# network. Root is needed only when a distribution package is missing.
#
# Exit status: 0 everything is there, 1 an installation failed, 2 bad use or an unsupported system.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
STAMP=$VENV/tfo-lab-installed          # says which requirements, for which Python, were installed here
SHIM=$ROOT/tfo-test/chrome_shim
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin         # which apt-get needs; root by `su`, without `-`, lacks them
PYTHON=/usr/bin/python3                # the distribution's own: Mininet is a package of that one

PACKAGES=(
    mininet iproute2 iptables iputils-ping                          # the network
    tcpdump                                                         # run.sh --pcap
    curl                                                            # compared with connie in connie/star.py
    gcc libc6-dev python3-dev libnetfilter-queue-dev                # to compile the shim and NetfilterQueue
    python3 python3-venv
    fonts-dejavu-core fonts-liberation                              # for the figures and the browser
    fonts-noto-color-emoji                                          # without it many pages load pictures of emoji
)
REQUIREMENTS=("$ROOT/requirements/run.txt")

say() { printf 'setup: %s\n' "$*"; }

# refuse MESSAGE: what was asked for cannot be done here.
refuse() {
    say "$*" >&2
    exit 2
}

# step WHAT COMMAND...: announce WHAT, run COMMAND, and stop with its name and the whole log when it fails.
step() {
    local what=$1 status=0
    shift
    say "$what"
    printf '\n$ %s\n' "$*" >>"$LOG"
    # In the background, because bash passes a signal on only while it waits; 9 is the lock, which must not outlive us.
    "$@" >>"$LOG" 2>&1 </dev/null 9<&- &
    wait "$!" || status=$?
    if ((status != 0)); then
        tail -n 5 "$LOG" >&2
        say "failed with status $status: $*; the whole log: $LOG" >&2
        KEEP_LOG=yes
        exit 1
    fi
    INSTALLED=yes
}

usage() {
    printf 'usage: %s [--sweep | --tests]\n' "${BASH_SOURCE[0]}"
    printf '  --sweep   also install what sweep.py needs\n'
    printf '  --tests   also install what scripts/test.sh needs\n'
}

read_arguments() {
    while (($#)); do
        case $1 in
            --tests)
                PACKAGES+=(shellcheck nginx-light tshark)   # nginx: the internet of fetch.py's tests; tshark reads captures
                choose_kernel
                REQUIREMENTS+=("$ROOT/requirements/test.txt" "$ROOT/requirements/sweep.txt")
                ;;
            --sweep) REQUIREMENTS+=("$ROOT/requirements/sweep.txt") ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) refuse "unknown argument: $1; --help shows those that there are" ;;
        esac
        shift
    done
}

# is_ubuntu: Ubuntu, or made from it.
is_ubuntu() {
    local distribution
    distribution=" $(sed -n 's/^ID\(_LIKE\)\?=//p' /etc/os-release 2>/dev/null | tr -d \"\' | tr '\n' ' ') "
    [[ $distribution == *" ubuntu "* ]]
}

# choose_kernel: Debian packages User-mode Linux, for Intel's and AMD's processors: a kernel with netem for the tests
# (scripts/uml.sh). Elsewhere they are skipped.
choose_kernel() {
    if ! is_ubuntu && [[ $(uname -m) == x86_64 ]]; then
        PACKAGES+=(user-mode-linux kmod)
    fi
}

# choose_browser: Debian packages a browser and its driver. Ubuntu's chromium is a snap, which cannot enter a network
# namespace, so there it has to be Google's own.
choose_browser() {
    if ! is_ubuntu; then
        PACKAGES+=(chromium chromium-driver)
    elif ! command -v google-chrome >/dev/null && ! command -v google-chrome-stable >/dev/null; then
        local from="https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb with apt-get install"
        [[ $(uname -m) == x86_64 ]] || from="Google's package for $(uname -m) if there is one, or use Debian: docs/install.md"
        say "no google-chrome, and Ubuntu's chromium is a snap that cannot enter a network namespace; install $from" >&2
    fi
}

# missing_packages: print those of PACKAGES that are not installed, one a line.
missing_packages() {
    local package
    declare -A installed=()
    while read -r package; do
        installed[$package]=yes
    done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${PACKAGES[@]}" 2>/dev/null |
        sed -n 's/^installed //p')
    for package in "${PACKAGES[@]}"; do
        [[ -n ${installed[$package]:-} ]] || printf '%s\n' "$package"
    done
}

# missing_by_hand: print what is missing of what the packages bring, by programs and modules: where nobody can ask for
# packages, or they have other names.
missing_by_hand() {
    local program
    for program in mnexec ip tc iptables ifconfig ping tcpdump gcc; do
        command -v "$program" >/dev/null || printf '%s\n' "$program"
    done
    "$PYTHON" -c 'import mininet, venv' 2>/dev/null || printf 'Mininet for %s\n' "$PYTHON"
}

# serves_nginx: this machine has nginx as a service, now or from the next boot on.
serves_nginx() {
    systemctl is-active --quiet nginx 2>/dev/null || systemctl is-enabled --quiet nginx 2>/dev/null
}

install_packages() {
    ((${#PACKAGES[@]})) || return 0
    local missing their_nginx=
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || refuse "root is needed to install ${missing[*]}; run: sudo ${BASH_SOURCE[0]}"
    ! serves_nginx || their_nginx=yes
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
    # The package starts a web server on port 80, now and at every boot; the tests start their own. One that was a
    # service before is the user's: nginx-light comes beside it.
    if [[ -z $their_nginx && " ${missing[*]} " == *" nginx-light "* && -d /run/systemd/system ]]; then
        UNWANTED=nginx
    fi
    # One broken third-party source fails the update as a whole; whether the packages can be had, the next step tells.
    step "refreshing the list of packages" sh -c 'apt-get -q -o DPkg::Lock::Timeout=300 update || true'
    step "installing ${missing[*]}" \
        apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "${missing[@]}"
    if [[ $UNWANTED ]]; then
        step "not having nginx run as a service" systemctl disable --now nginx
        UNWANTED=
    fi
}

# wanted_stamp: the Python and the place .venv is made for (environments do not survive being moved), then one line for
# each requirements file with a hash of what it asks for.
wanted_stamp() {
    local file
    printf '%s %s\n' "$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$VENV"
    for file in "${REQUIREMENTS[@]}"; do
        printf '%s %s\n' "${file##*/}" "$(cat "$ROOT/requirements/build.txt" "$file" | sha256sum)"
    done
}

# environment_is_complete: every line wanted is in the stamp.
environment_is_complete() {
    local missing
    [[ -x $VENV/bin/python && -f $STAMP ]] || return 1
    # Not grep -q: it ends at the first hit, wanted_stamp dies of SIGPIPE, and pipefail takes that for "none missing".
    missing=$(wanted_stamp | grep -vxFf "$STAMP" || true)
    [[ -z $missing ]]
}

# pip ARGUMENTS...: the environment's pip. Indexes, proxies and certificates of the caller's environment hold; what
# would make pip install somewhere else or something else does not, nor does it count what the caller has in ~/.local as
# installed: root has not. Runs as a step, which is a process of its own: exec makes pip that process.
pip() {
    exec env -u PIP_USER -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_CONSTRAINT -u PIP_REQUIREMENT -u PIP_NO_DEPS \
        -u PYTHONPATH -u PYTHONHOME PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 \
        "$VENV/bin/python" -m pip "$@"
}

# compile_packages: on all processors, where pip takes one. As pip, it passes over what is no Python of this version;
# and over the packages' own tests, which nobody runs.
# shellcheck disable=SC2317  # called through step
compile_packages() {
    exec "$VENV/bin/python" -c 'import compileall, re, sys
compileall.compile_dir(sys.argv[1], quiet=2, workers=0, rx=re.compile(re.escape(sys.argv[1]) + ".*/tests?/"))' "$VENV/lib"
}

# make_environment: fill .venv, and start it afresh when it was made by another Python or in another place.
make_environment() {
    environment_is_complete && return 0
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        refuse "$PYTHON is $("$PYTHON" --version), and 3.10 or newer is needed; use Debian 12 or Ubuntu 22.04 or newer"
    local again=() file arguments=()
    if [[ -f $STAMP && $(head -n 1 "$STAMP") != "$(wanted_stamp | sed -n 1p)" ]]; then
        again=(--clear)
    fi
    rm -f "$STAMP"
    UNFINISHED=$VENV
    step "making the Python environment $VENV" \
        env -u PYTHONPATH -u PYTHONHOME "$PYTHON" -m venv --system-site-packages "${again[@]}" "$VENV"
    for file in "${REQUIREMENTS[@]}"; do
        arguments+=(-r "$file")
    done
    step "installing the tools to compile Python packages" pip install --no-compile -r "$ROOT/requirements/build.txt"
    step "installing the Python packages of ${REQUIREMENTS[*]#"$ROOT"/}" \
        pip install --no-compile --no-build-isolation "${arguments[@]}"
    step "compiling them" compile_packages
    wanted_stamp >"$STAMP"
    give_to_caller "$VENV"
    UNFINISHED=
}

compile_shim() {
    if [[ ! -f $SHIM.c || (-f $SHIM.so && ! $SHIM.c -nt $SHIM.so) ]]; then
        return 0
    fi
    # Compiled beside its place and moved there, so that a browser starting just now never loads half of it.
    # Warnings are errors in scripts/check.sh, not here: a newer compiler's new warning must not stop a user's set-up.
    step "compiling tfo-test/chrome_shim.so" \
        gcc -O2 -Wall -Wextra -shared -fPIC -o "$SHIM.so.new" "$SHIM.c" -ldl
    # By a clock that was set back, or a stick that keeps local time, the source may be of the future.
    [[ ! $SHIM.c -nt $SHIM.so.new ]] || touch -r "$SHIM.c" "$SHIM.so.new"
    give_to_caller "$SHIM.so.new"
    mv "$SHIM.so.new" "$SHIM.so"
}

# stop STATUS: a signal came. The step at hand is told, and the next run takes up where this one ended.
stop() {
    trap '' INT TERM HUP
    say "stopped; run it again to go on" >&2
    local step tries
    step=$(jobs -pr)
    # Again and again, because a step that is just being started does not hear it yet; after 8 s it is ended for good.
    for ((tries = 0; tries < 80; tries++)); do
        if [[ -z $step ]] || ! kill -TERM "$step" 2>/dev/null; then
            exit "$1"
        fi
        sleep 0.1
    done
    kill -KILL "$step" 2>/dev/null || true
    exit "$1"
}

# Compiled ahead, as the user: root's first run would leave directories that the user cannot remove, or cannot write
# there (NFS). Where the user cannot, either, as in a clone of root's, programs only start later.
compile_modules() {
    [[ -n ${SUDO_UID:-} ]] || return 0
    local folders=("$ROOT/harness" "$ROOT/connie" "$ROOT/benchmarks" "$ROOT/experiments") cache as_user=()
    while IFS= read -r -d '' cache; do
        give_to_caller "$cache"
    done < <(find "${folders[@]}" -type d -name __pycache__ -user root -print0)
    ((EUID != 0)) || as_user=(setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID:-$SUDO_UID}" --clear-groups --)
    "${as_user[@]}" "$VENV/bin/python" -m compileall -q "${folders[@]}" >/dev/null 2>&1 || true
}

# give_to_caller PATH: what sudo made belongs to the user who called sudo.
give_to_caller() {
    if ((EUID == 0)) && [[ -n ${SUDO_UID:-} && -n ${SUDO_GID:-} ]]; then
        chown -R -h "$SUDO_UID:$SUDO_GID" "$1"
    fi
}

# tidy: a step that failed, or a signal, leaves nothing of root's in the project, and no service that nobody asked for.
tidy() {
    [[ ! -e $UNFINISHED ]] || give_to_caller "$UNFINISHED" || true
    [[ ! $UNWANTED ]] || systemctl disable --now "$UNWANTED" >>"$LOG" 2>&1 || true
    [[ $KEEP_LOG ]] || rm -f "$LOG"
}

main() {
    INSTALLED=no
    UNFINISHED='' UNWANTED='' KEEP_LOG=''
    read_arguments "$@"
    choose_browser
    local missing=()
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        mapfile -t missing < <(missing_by_hand)
        ((!${#missing[@]})) || refuse "only Debian and Ubuntu are supported (no apt-get here); elsewhere install by hand:" \
            "${PACKAGES[*]}; not there yet: ${missing[*]}"
        PACKAGES=()
    fi
    # One set-up at a time; the others wait for it and then find everything there.
    exec 9<"${BASH_SOURCE[0]}"
    # 1: not in time. Whatever else: a file system without such locks (NFS has none for a file that is only read).
    flock -w 900 9 2>/dev/null || (($? > 1)) ||
        refuse "another set-up has been running for 15 minutes; wait for it or end it"
    LOG=$(mktemp -t tfo-lab-setup-XXXXXX.log)
    trap tidy EXIT
    trap 'stop 130' INT
    trap 'stop 143' TERM
    trap 'stop 129' HUP
    install_packages
    make_environment
    compile_shim
    compile_modules
    if [[ $INSTALLED == yes ]]; then
        say "done in $SECONDS s"
    else
        say "everything is there"
    fi
}

main "$@"
