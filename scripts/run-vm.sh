#!/usr/bin/env bash
# Boot the course VM (scripts/make-vm.sh) in QEMU: with KVM or HVF where the machine has it, else by emulation, which is
# right but slow. Without arguments its console; with a command that command, over SSH. See docs/install.md.
#
# Written for macOS's bash 3.2, too. Exit status: the command's; 1 the VM did not come up, 2 bad use or something missing.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ASKPASS=$ROOT/scripts/vm/askpass.sh
POWEROFF_S=180

arch=
image=
accel=
cpus=2
memory_mb=4096
port=2222
share=
boot_s=
firmware=
snapshot=
get=
dry_run=
command=()
qemu_pid=
up=
work=

usage() {
    cat <<'END'
usage: ./scripts/run-vm.sh [options]                  the VM's console; sudo poweroff in it ends it
       ./scripts/run-vm.sh [options] -- COMMAND ...   run COMMAND in the VM's ~/tfo-lab, then shut it down

  --arch amd64|arm64   which image (this machine's)
  --image FILE         another image than vm/tfo-lab-ARCH.qcow2
  --accel kvm|hvf|tcg  how the processor is made (what works here; tcg emulates it, anywhere)
  --cpus N             (2)        --memory MB   (4096)
  --port PORT          the host's port that leads to the VM's SSH: ssh -p 2222 mininet@localhost (2222)
  --share DIR          the folder of this machine that is /host in the VM (vm/shared; needs a QEMU with virtio-9p)
  --get                after COMMAND copy client/, serverlogs/ and output-figures/ to vm/results/; what an earlier
                       one copied is moved to vm/results-DATE/
  --snapshot           forget what changes on the VM's disk
  --boot-timeout S     how long the VM may take to its SSH (300; emulated 1800)
  --firmware FILE      boot with this firmware: UEFI's on amd64, for instance
  --dry-run            print the command line of QEMU and start nothing
END
}

say() { printf 'run-vm: %s\n' "$*" >&2; }

refuse() {
    say "$*"
    exit 2
}

read_arguments() {
    while (($#)); do
        case $1 in
            --arch | --image | --accel | --cpus | --memory | --port | --share | --boot-timeout | --firmware)
                (($# >= 2)) || refuse "$1 needs a value; see --help"
                case $1 in
                    --arch) arch=$2 ;;
                    --image) image=$2 ;;
                    --accel) accel=$2 ;;
                    --cpus) cpus=$2 ;;
                    --memory) memory_mb=$2 ;;
                    --port) port=$2 ;;
                    --share) share=$2 ;;
                    --boot-timeout) boot_s=$2 ;;
                    --firmware) firmware=$2 ;;
                esac
                shift
                ;;
            --get) get=yes ;;
            --snapshot) snapshot=yes ;;
            --dry-run) dry_run=yes ;;
            -h | --help) usage; exit 0 ;;
            --) shift; command=(${@+"$@"}); ((${#command[@]})) || refuse "-- wants a command behind it"; return ;;
            *) refuse "unknown argument: $1; a command stands behind --; see --help" ;;
        esac
        shift
    done
}

number() { [[ $2 =~ ^[1-9][0-9]{0,6}$ ]] || refuse "$1: a whole number over 0, not '$2'"; }

check_arguments() {
    [[ $arch =~ ^(amd64|arm64)$ ]] || refuse "--arch: amd64 or arm64, not '$arch'"
    [[ $accel =~ ^(kvm|hvf|tcg)$ ]] || refuse "--accel: kvm, hvf or tcg, not '$accel'"
    number --cpus "$cpus"
    number --memory "$memory_mb"
    number --port "$port"
    ((port <= 65535)) || refuse "--port: up to 65535"
    number --boot-timeout "$boot_s"
    [[ -z $get || ${#command[@]} -gt 0 ]] || refuse "--get: copies after a command; from the console, cp -r client /host"
    [[ -f $image ]] || refuse "$image: no such image; make it with: sudo ./scripts/make-vm.sh --arch $arch"
    [[ -z $firmware || -f $firmware ]] || refuse "$firmware: no such file; leave --firmware out"
    command -v "$qemu" >/dev/null ||
        refuse "$qemu is not installed; Debian, Ubuntu: sudo apt-get install qemu-system; macOS: brew install qemu"
}

own_arch() {
    case $(uname -m) in
        x86_64 | amd64) echo amd64 ;;
        aarch64 | arm64) echo arm64 ;;
        *) echo none ;;
    esac
}

# best_accel: what can run $arch here. A /dev/kvm alone does not tell: inside a VM it may be there for other guests only.
best_accel() {
    if [[ $arch != "$(own_arch)" ]]; then
        echo tcg
    elif [[ -w /dev/kvm ]] && { [[ $arch == arm64 ]] || grep -Eqw 'vmx|svm' /proc/cpuinfo; }; then
        echo kvm
    elif [[ $(uname -s) == Darwin && $(sysctl -n kern.hv_support 2>/dev/null) == 1 ]]; then
        echo hvf
    else
        echo tcg
    fi
}

fill_in() {
    : "${arch:=$(own_arch)}"
    : "${image:=$ROOT/vm/tfo-lab-$arch.qcow2}"
    : "${accel:=$(best_accel)}"
    : "${share:=$ROOT/vm/shared}"
    if [[ -z $boot_s ]]; then
        boot_s=300
        [[ $accel != tcg ]] || boot_s=1800
    fi
    qemu="qemu-system-x86_64"
    [[ $arch != arm64 ]] || qemu="qemu-system-aarch64"
}

# arm_firmware: UEFI, which every arm64 machine boots by; Debian's, or the one that comes with QEMU.
arm_firmware() {
    local file
    for file in /usr/share/qemu-efi-aarch64/QEMU_EFI.fd /usr/share/AAVMF/AAVMF_CODE.fd; do
        [[ ! -f $file ]] || { echo "$file"; return; }
    done
    echo edk2-aarch64-code.fd
}

# make_line: the command line of QEMU, in $line.
make_line() {
    local machine=q35 cpu=host
    [[ $accel != tcg ]] || cpu=max
    if [[ $arch == arm64 ]]; then
        machine=virt
        [[ $accel != tcg ]] || cpu=cortex-a72        # "max" authenticates pointers, at great cost
        : "${firmware:=$(arm_firmware)}"
    fi
    line=("$qemu" -machine "$machine" -accel "$accel" -cpu "$cpu" -smp "$cpus" -m "$memory_mb"
        -drive "if=virtio,format=qcow2,file=${image//,/,,},discard=unmap" -device virtio-rng-pci
        -netdev "user,id=net0,hostfwd=tcp:127.0.0.1:$port-:22" -device "virtio-net-pci,netdev=net0")
    # The emulated processor's clock counts instructions, 1 ns each, and so does not run on while the host does other
    # things: the VM sees a slow processor, but packets arrive when they should. While idle it keeps real time.
    [[ $accel != tcg ]] || line+=(-icount "shift=0,sleep=on")
    [[ -z $firmware ]] || line+=(-bios "$firmware")
    [[ -z $snapshot ]] || line+=(-snapshot)
    if "$qemu" -device help 2>&1 | grep -q virtio-9p-pci; then
        [[ -n $dry_run ]] || mkdir -p "$share"
        line+=(-virtfs "local,path=${share//,/,,},mount_tag=host,security_model=none")
    fi
}

# in_vm COMMAND_LINE: run a shell command line in the VM as mininet. SSH's own failures are 255.
in_vm() {
    local terminal=-T
    [[ ! -t 0 || ! -t 1 || -n ${quiet:-} ]] || terminal=-t
    DISPLAY=${DISPLAY:-:0} SSH_ASKPASS=$ASKPASS SSH_ASKPASS_REQUIRE=force ssh "$terminal" -p "$port" \
        -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=60 \
        -o PubkeyAuthentication=no -o PreferredAuthentications=password -o NumberOfPasswordPrompts=1 \
        -o ServerAliveInterval=30 mininet@127.0.0.1 "$1"
}

# require_free_port: SSH would lead to whatever listens there already, such as a VM of somebody else's, and not to ours.
require_free_port() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null ||
        refuse "--port $port: something listens there already, such as another VM; choose another --port"
}

# start: QEMU in the background, its console in a file.
start() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/tfo-lab-vm-XXXXXX")
    "${line[@]}" -display none -monitor none -serial "file:$work/console" </dev/null >"$work/qemu" 2>&1 &
    qemu_pid=$!
}

require_qemu() {
    kill -0 "$qemu_pid" 2>/dev/null || { cat "$work/qemu" >&2; say "QEMU ended; its words stand above"; exit 1; }
}

wait_for_ssh() {
    local deadline=$((SECONDS + boot_s))
    say "booting $image ($accel)"
    until quiet=yes in_vm true </dev/null >/dev/null 2>&1; do
        require_qemu
        if ((SECONDS >= deadline)); then
            tail -n 20 "$work/console" >&2
            say "no SSH after $boot_s s; the end of the VM's console stands above; --boot-timeout raises the limit"
            exit 1
        fi
        sleep 2
    done
    require_qemu            # or another VM has answered that began at the same moment
    up=yes
    say "up after $SECONDS s"
}

# copy_results: what was copied earlier is kept in vm/results-DATE/: plot.py would put the loads of both into one table.
copy_results() {
    local results=$ROOT/vm/results
    rm -rf "$results.part"
    mkdir -p "$results.part"
    # shellcheck disable=SC2016  # expanded in the VM
    quiet=yes in_vm 'cd tfo-lab && tar -cf - $(ls -d client serverlogs output-figures 2>/dev/null)' </dev/null |
        tar -xf - -C "$results.part" || { rm -rf "$results.part"; say "the results could not be copied"; return 1; }
    [[ ! -e $results ]] || mv "$results" "$results-$(date +%Y%m%d-%H%M%S)" || return 1
    mv "$results.part" "$results" || return 1
    say "results: $results/"
}

# stop: have the VM shut down; when it does not, or nobody waits for it any more, end QEMU.
# shellcheck disable=SC2317  # called by the trap
stop() {
    trap '' INT TERM HUP
    if [[ -n $qemu_pid ]] && kill -0 "$qemu_pid" 2>/dev/null; then
        if [[ -n $up ]]; then
            local deadline=$((SECONDS + POWEROFF_S))
            # Its status tells nothing: the connection may end before the answer comes.
            quiet=yes in_vm 'sudo systemctl poweroff' </dev/null >/dev/null 2>&1 || true
            while kill -0 "$qemu_pid" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.2; done
        fi
        kill -TERM "$qemu_pid" 2>/dev/null || true
        wait "$qemu_pid" 2>/dev/null || true
    fi
    [[ -z $work ]] || rm -rf "$work"
}

run_command() {
    local status=0 words
    printf -v words '%q ' "${command[@]}"
    require_free_port
    start
    wait_for_ssh
    in_vm "cd tfo-lab && $words" || status=$?
    [[ -z $get ]] || copy_results || status=1
    return "$status"
}

main() {
    read_arguments "$@"
    fill_in
    check_arguments
    make_line
    if [[ -n $dry_run ]]; then
        printf '%q ' "${line[@]}"
        echo
        exit 0
    fi
    if ((${#command[@]} == 0)); then
        say "user mininet, password mininet; sudo poweroff ends it (or Ctrl-A X at once); ssh -p $port mininet@localhost"
        exec "${line[@]}" -nographic -serial mon:stdio
    fi
    trap stop EXIT
    # Someone who interrupts does not want to wait: as if the plug was pulled, which the file system's journal survives.
    trap 'up=; exit 130' INT
    trap 'up=; exit 143' TERM HUP
    local status=0
    run_command || status=$?
    exit "$status"
}

main "$@"
