#!/usr/bin/env bash
# Make the course VM: vm/tfo-lab-ARCH.qcow2, a bootable Debian 12 with TFO Lab set up in it; with --ova also the file
# that VirtualBox and VMware import. See docs/install.md.
#
# Everything comes from the distribution's packages (debootstrap, then apt inside) and from PyPI through the project's own
# setup.sh. Neither KVM nor loop devices are needed: the file system is filled by mke2fs -d, the EFI partition by mtools,
# and GRUB's first sectors by scripts/vm/bios_boot.py. Mounts and processes live in namespaces of their own and end with
# us.
#
# Exit status: 0 the image is there, 1 a step failed (the line names its log), 2 bad use or a machine that cannot do it.
set -euo pipefail

ROOT=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SELF=$ROOT/scripts/make-vm.sh
SUITE=bookworm
WORK_GIB=9                     # unpacked system, raw disk and image side by side
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
BINFMT=/proc/sys/fs/binfmt_misc
declare -A TOOLS=([debootstrap]=debootstrap [qemu-img]=qemu-utils [mformat]=mtools [mke2fs]=e2fsprogs [sfdisk]=fdisk
                  [git]=git [unshare]=util-linux)

arch=$(dpkg --print-architecture 2>/dev/null || true)
output=$ROOT/vm
mirror=http://deb.debian.org/debian
disk_gib=16
ova=
tests=
keep=
dry_run=

usage() {
    cat <<'END'
usage: sudo ./scripts/make-vm.sh [options]

  --arch amd64|arm64   what to make it for (this machine's); another one is set up under emulation, five times as slow
  --output DIR         where tfo-lab-ARCH.qcow2 goes (vm/)
  --mirror URL         the Debian archive (http://deb.debian.org/debian)
  --disk GIB           size of the VM's disk; the file grows only as the disk fills (16)
  --ova                also tfo-lab-amd64.ova, for VirtualBox and VMware, and its SHA-256
  --tests              also install what scripts/test.sh needs
  --keep               keep the unpacked system beside the image, to look into
  --dry-run            say what would be done, and whether this machine can
END
}

say() { printf 'make-vm: %s\n' "$*"; }

refuse() {
    say "$*" >&2
    exit 2
}

read_arguments() {
    while (($#)); do
        case $1 in
            --arch | --output | --mirror | --disk)
                (($# >= 2)) || refuse "$1 needs a value; see --help"
                case $1 in
                    --arch) arch=$2 ;;
                    --output) output=$(realpath -m "$2") ;;
                    --mirror) mirror=$2 ;;
                    --disk) disk_gib=$2 ;;
                esac
                shift
                ;;
            --ova) ova=yes ;;
            --tests) tests=--tests ;;
            --keep) keep=yes ;;
            --dry-run) dry_run=yes ;;
            -h | --help) usage; exit 0 ;;
            *) refuse "unknown argument: $1; see --help" ;;
        esac
        shift
    done
    [[ $arch == amd64 || $arch == arm64 ]] || refuse "--arch: amd64 or arm64, not '$arch'"
    [[ -z $ova || $arch == amd64 ]] || refuse "--ova: is for --arch amd64; on Apple silicon QEMU and UTM read the qcow2"
    [[ $mirror =~ ^(https?://|file:/)[^\ ]+$ ]] || refuse "--mirror: a URL such as http://deb.debian.org/debian"
    [[ $disk_gib =~ ^[1-9][0-9]{0,3}$ && $disk_gib -ge 6 ]] || refuse "--disk: a whole number of GiB, at least 6"
}

foreign() { [[ $arch != "$(dpkg --print-architecture 2>/dev/null)" ]]; }

# missing_packages: print what is to be installed on this machine first.
missing_packages() {
    local tool
    for tool in "${!TOOLS[@]}"; do
        command -v "$tool" >/dev/null || printf '%s\n' "${TOOLS[$tool]}"
    done | sort
    [[ -e $KEYRING ]] || echo debian-archive-keyring
    ! foreign || [[ -x /usr/bin/qemu-$(machine)-static ]] || printf '%s\n' binfmt-support qemu-user-static
}

# machine: what the kernel and QEMU call the architecture.
machine() { if [[ $arch == arm64 ]]; then echo aarch64; else echo x86_64; fi; }

plan() {
    cat <<END
1. on this machine: ${1:-nothing} to install
2. debootstrap Debian 12 ($SUITE, $arch) from $mirror into a directory below $output
3. inside: linux-image-$arch, GRUB, OpenSSH, sudo, user mininet/mininet, a copy of $ROOT, scripts/setup.sh $tests
4. a disk of $disk_gib GiB: EFI partition, ext4 root; packed into $output/tfo-lab-$arch.qcow2
END
    [[ -z $ova ]] || echo "5. the same disk as VMDK, with a description (OVF): $output/tfo-lab-$arch.ova, and its SHA-256 beside it"
}

# step WHAT COMMAND...: announce WHAT, run COMMAND, and stop with the end of its words when it fails.
step() {
    local what=$1 began=$SECONDS status=0
    shift
    printf '\n$ %s\n' "$*" >>"$LOG"
    # In the background, because where bash looks at a status, set -e is off, in functions below, too.
    "$@" >>"$LOG" 2>&1 </dev/null &
    wait "$!" || status=$?
    if ((status != 0)); then
        tail -n 15 "$LOG" >&2
        say "failed with status $status: $what; the whole log: $LOG" >&2
        exit 1
    fi
    say "$what: $((SECONDS - began)) s"
}

# build: everything below runs in mount and process namespaces of its own, see main.
build() {
    local system=$WORK/system uuid
    mkdir -p "$system"
    uuid=$(</proc/sys/kernel/random/uuid)
    step "unpacking Debian 12 for $arch" unpack "$system"
    step "installing system and project" provision "$system" "$uuid"
    step "filling the disk" "$ROOT/scripts/vm/disk.sh" "$system" "$WORK/disk.raw" "$arch" "$disk_gib" "$uuid"
    step "packing the image" qemu-img convert -f raw -O qcow2 -c "$WORK/disk.raw" "$WORK/image.qcow2"
    [[ -z $ova ]] || step "packing the OVA" "$ROOT/scripts/vm/ova.sh" "$WORK/image.qcow2" "tfo-lab-$arch" \
        "$WORK/tfo-lab-$arch.ova" "$disk_gib"
}

unpack() {
    local options=(--arch="$arch" --variant=minbase --keyring="$KEYRING" --include=ca-certificates) system=$1
    if foreign; then
        debootstrap "${options[@]}" --foreign "$SUITE" "$system" "$mirror"
        chroot "$system" /debootstrap/debootstrap --second-stage
    else
        debootstrap "${options[@]}" "$SUITE" "$system" "$mirror"
    fi
}

# provision SYSTEM UUID: set up what was unpacked, from inside, with this machine's way to the package registries.
provision() {
    local system=$1 name settings=("ROOT_UUID=$2" "ARCH=$arch" "MIRROR=$mirror" "SUITE=$SUITE" "SETUP_ARGUMENTS=$tests")
    for name in $(compgen -e | grep -E '^(PIP_|https?_proxy$|HTTPS?_PROXY$|no_proxy$|NO_PROXY$)'); do
        settings+=("$name=${!name}")
    done
    mount -t proc proc "$system/proc"
    mount --rbind /sys "$system/sys"
    mount --rbind /dev "$system/dev"
    rm -f "$system/etc/resolv.conf"
    cp -L /etc/resolv.conf "$system/etc/resolv.conf"
    # What this machine trusts, should its way out have a certificate of its own (a company's proxy): only while we build.
    if [[ -f ${PIP_CERT:-} ]]; then
        touch "$system/tmp/certificates.pem"
        mount --bind "$PIP_CERT" "$system/tmp/certificates.pem"
        settings+=("PIP_CERT=/tmp/certificates.pem")
    fi
    copy_project "$system/home/mininet/tfo-lab"
    cp "$ROOT/scripts/vm/provision.sh" "$system/tmp/provision.sh"
    chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "${settings[@]}" \
        /bin/bash /tmp/provision.sh
    umount -R "$system/proc" "$system/sys" "$system/dev"
    [[ ! -f ${PIP_CERT:-} ]] || umount "$system/tmp/certificates.pem"
    find "$system/tmp" -mindepth 1 -delete
}

# copy_project PLACE: the last commit, with git's history cut there, so that a student can pull what comes later.
copy_project() {
    local place=$1 origin
    mkdir -p "$(dirname "$place")"
    git clone -q --depth 1 "file://$ROOT" "$place"
    origin=$(git -c safe.directory="$ROOT" -C "$ROOT" remote get-url origin 2>/dev/null || true)
    if [[ $origin == *://* || $origin == *@*:* ]]; then
        git -C "$place" remote set-url origin "$origin"
    else
        git -C "$place" remote remove origin
    fi
}

# enable_foreign: let the kernel run programs of the other architecture while we build.
enable_foreign() {
    local handler
    handler=qemu-$(machine)
    if [[ ! -e $BINFMT/register ]]; then
        mount -t binfmt_misc binfmt_misc "$BINFMT"
        MOUNTED=$BINFMT
    fi
    if [[ ! -e $BINFMT/$handler ]]; then
        update-binfmts --enable "$handler"
        ENABLED=$handler
    fi
}

# give_to_caller PATH: what sudo made belongs to the user who called sudo.
give_to_caller() {
    # shellcheck disable=SC2153  # sudo sets both
    [[ -z ${SUDO_UID:-} ]] || chown "$SUDO_UID:$SUDO_GID" "$1"
}

clean_up() {
    trap '' INT TERM HUP
    # KILL, because unshare ignores the others; its first process, and so all the rest, goes with it.
    [[ -z ${CHILD:-} ]] || { kill -KILL "$CHILD" 2>/dev/null && wait "$CHILD" 2>/dev/null; } || true
    [[ -z ${ENABLED:-} ]] || update-binfmts --disable "$ENABLED" || true
    [[ -z ${MOUNTED:-} ]] || umount "$MOUNTED" || true
    [[ -z ${WORK:-} ]] || rm -rf --one-file-system "$WORK"
}

main() {
    local missing made status=0
    read_arguments "$@"
    missing=$(missing_packages | tr '\n' ' ')
    if [[ -n $dry_run ]]; then
        plan "$missing"
        exit 0
    fi
    ((EUID == 0)) || refuse "needs root to unpack a system; run: sudo ./scripts/make-vm.sh"
    if [[ ${TFO_LAB_VM_WORK:-} ]]; then
        WORK=$TFO_LAB_VM_WORK LOG=$TFO_LAB_VM_LOG
        build
        exit 0
    fi
    if [[ ! -d $output ]]; then     # one that is there, such as /srv or /tmp, stays whose it is
        mkdir -p "$output"
        give_to_caller "$output"
    fi
    (($(df --output=avail -BG "$output" | tail -n 1 | tr -dc 0-9) >= WORK_GIB)) ||
        refuse "$output: less than $WORK_GIB GB free; make room, or choose another --output"
    LOG=$(mktemp -t tfo-lab-vm-XXXXXX.log)
    if [[ -n $missing ]]; then
        # shellcheck disable=SC2086  # one word a package
        step "installing ${missing% }" env DEBIAN_FRONTEND=noninteractive sh -c \
            'apt-get -q update || true; exec apt-get -q -y --no-install-recommends install "$@"' sh $missing
    fi
    trap clean_up EXIT
    trap 'rm -f "$LOG"; exit 130' INT
    trap 'rm -f "$LOG"; exit 143' TERM HUP
    WORK=$(mktemp -d "$output/.build-XXXXXX")
    ! foreign || enable_foreign
    # In the background, because bash hears a signal only while it waits; the namespaces' first process takes all with it.
    TFO_LAB_VM_WORK=$WORK TFO_LAB_VM_LOG=$LOG unshare --mount --pid --fork --kill-child --mount-proc "$SELF" "$@" &
    CHILD=$!
    wait "$CHILD" || status=$?
    CHILD=
    ((status == 0)) || exit "$status"
    mv "$WORK/image.qcow2" "$WORK/tfo-lab-$arch.qcow2"
    for made in "$WORK/tfo-lab-$arch".*; do
        give_to_caller "$made"
        mv "$made" "$output/"
    done
    [[ -z $keep ]] || { rm -rf "$output/system-$arch"; mv "$WORK/system" "$output/system-$arch"; }
    rm -f "$LOG"
    say "$(cd "$output" && du -h "tfo-lab-$arch".* | tr '\n\t' '; '), made in $SECONDS s; start it with: ./scripts/run-vm.sh"
}

main "$@"
