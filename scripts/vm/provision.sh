#!/usr/bin/env bash
# Set up the VM's system from inside (chroot): packages, boot loader, user, project. Part of make-vm.sh, which sets
# ROOT_UUID, ARCH, MIRROR, SUITE and SETUP_ARGUMENTS, and what it takes to reach the package registries.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
PROJECT=/home/mininet/tfo-lab

packages=(
    "linux-image-$ARCH" initramfs-tools systemd-sysv dbus libpam-systemd systemd-resolved systemd-timesyncd kmod udev
    openssh-server sudo ca-certificates git nano less procps iproute2 iputils-ping netbase bash-completion
    grub2-common zstd
)
if [[ $ARCH == amd64 ]]; then
    packages+=(grub-pc-bin grub-efi-amd64-bin)
    targets=(i386-pc x86_64-efi)
    serial=ttyS0
else
    packages+=(grub-efi-arm64-bin)
    targets=(arm64-efi)
    serial=ttyAMA0
fi

install_system() {
    # Nothing is started in here, and nothing is kept that apt can fetch again.
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
    printf 'deb %s %s main\n' "$MIRROR" "$SUITE" "$MIRROR" "$SUITE-updates" >/etc/apt/sources.list
    if [[ $MIRROR == *deb.debian.org/debian ]]; then
        printf 'deb %s-security %s-security main\n' "$MIRROR" "$SUITE" >>/etc/apt/sources.list
    fi
    printf 'path-exclude=/usr/share/%s/*\n' doc locale man info >/etc/dpkg/dpkg.cfg.d/small
    printf 'path-include=/usr/share/doc/*/copyright\n' >>/etc/dpkg/dpkg.cfg.d/small
    echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/quick        # a build that is cut off starts afresh anyway
    choose_initrd_modules
    apt-get -q update
    apt-get -q -y upgrade
    # systemd-resolved puts a name server here that runs only in the VM.
    cp /etc/resolv.conf /tmp/resolv.conf
    apt-get -q -y --no-install-recommends install "${packages[@]}"
    rm -f /etc/resolv.conf
    cp /tmp/resolv.conf /etc/resolv.conf
}

# The drivers of the disks that virtual machines have, instead of all there are: a fifth of the size, and made in seconds
# where Debian's takes a quarter of an hour under emulation. udev loads from them what the machine needs.
choose_initrd_modules() {
    mkdir -p /etc/initramfs-tools/conf.d /etc/initramfs-tools/hooks
    echo MODULES=list >/etc/initramfs-tools/conf.d/tfo-lab
    cat >/etc/initramfs-tools/hooks/tfo-lab <<'END'
#!/bin/sh
[ "$1" != prereqs ] || exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules ext4 virtio_pci virtio_mmio virtio_blk virtio_scsi ahci ata_piix sd_mod nvme \
    mptspi mptsas vmw_pvscsi hv_vmbus hv_storvsc xhci_pci usb_storage uas
END
    chmod 755 /etc/initramfs-tools/hooks/tfo-lab
}

configure_system() {
    echo tfo-lab >/etc/hostname
    printf '127.0.0.1 localhost\n127.0.1.1 tfo-lab\n::1 localhost ip6-localhost\n' >/etc/hosts
    cat >/etc/fstab <<END
UUID=$ROOT_UUID / ext4 errors=remount-ro 0 1
# The host's folder (run-vm.sh --share), where QEMU offers one.
host /host 9p trans=virtio,version=9p2000.L,msize=262144,nofail 0 0
END
    mkdir -p /host
    # Only the real network card: the names of Mininet's interfaces begin otherwise.
    printf '[Match]\nName=en* eth*\n\n[Network]\nDHCP=yes\n' >/etc/systemd/network/wired.network
    systemctl enable systemd-networkd systemd-resolved "serial-getty@$serial"
    # A course's VM waits for nobody.
    systemctl mask systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer
    # Every VM makes a host key of its own; one kind is quick, even under emulation.
    rm -f /etc/ssh/ssh_host_*
    echo 'HostKey /etc/ssh/ssh_host_ed25519_key' >/etc/ssh/sshd_config.d/tfo-lab.conf
    cat >/etc/systemd/system/ssh-host-key.service <<'END'
[Unit]
Description=SSH host key of this VM
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key

[Install]
WantedBy=multi-user.target
END
    systemctl enable ssh-host-key.service ssh.service
    : >/etc/machine-id
}

add_user() {
    useradd --shell /bin/bash --groups sudo --home-dir /home/mininet mininet
    cp -n /etc/skel/.[!.]* /home/mininet/
    echo mininet:mininet | chpasswd
    echo 'mininet ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/mininet
    chmod 440 /etc/sudoers.d/mininet
    echo 'TFO Lab: cd tfo-lab, then sudo ./run.sh; sudo poweroff ends the VM.' >/etc/motd
    chown -R mininet:mininet /home/mininet
}

# The project's own set-up, as a user with sudo would run it; then the pages that are made, and one for slow machines.
set_up_project() {
    local uid gid
    uid=$(id -u mininet) gid=$(id -g mininet)
    # shellcheck disable=SC2086  # empty, or one word an argument
    SUDO_UID=$uid SUDO_GID=$gid TMPDIR=/tmp "$PROJECT/scripts/setup.sh" $SETUP_ARGUMENTS
    setpriv --reuid "$uid" --regid "$gid" --init-groups -- env HOME=/home/mininet bash -c "
        cd $PROJECT && ./scripts/make_pages.py --name Paper && ./scripts/make_pages.py --name tiny"
}

# grub-install wants a device; the same is done here by hand, and update-grub works once the VM runs.
make_boot_loader() {
    local target kernel
    printf '%s\n' GRUB_TIMEOUT=1 GRUB_CMDLINE_LINUX_DEFAULT= "GRUB_CMDLINE_LINUX='console=tty0 console=$serial'" \
        GRUB_DISABLE_OS_PROBER=true >/etc/default/grub
    mkdir -p /boot/grub
    # shellcheck disable=SC2016  # the variables are GRUB's
    printf 'search.fs_uuid %s root\nset prefix=($root)/boot/grub\n' "$ROOT_UUID" >/tmp/early.cfg
    for target in "${targets[@]}"; do
        cp -r "/usr/lib/grub/$target" /boot/grub/
        case $target in
            i386-pc) make_image "$target" core.img biosdisk ;;
            x86_64-efi) make_image "$target" BOOTX64.EFI ;;
            arm64-efi) make_image "$target" BOOTAA64.EFI ;;
        esac
    done
    kernel=$(basename /boot/vmlinuz-*)
    cat >/boot/grub/grub.cfg <<END
set timeout=1
menuentry "TFO Lab" {
    search --no-floppy --fs-uuid --set=root $ROOT_UUID
    linux /boot/$kernel root=UUID=$ROOT_UUID ro console=tty0 console=$serial
    initrd /boot/initrd.img-${kernel#vmlinuz-}
}
END
}

# make_image TARGET FILE [MODULE...]: a GRUB that finds the root file system and goes on with /boot/grub there.
make_image() {
    grub-mkimage -O "$1" -o "/boot/grub/$2" -p /boot/grub -c /tmp/early.cfg \
        part_gpt ext2 search search_fs_uuid normal configfile linux echo test "${@:3}"
}

tidy() {
    apt-get -q clean
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/*.log /var/log/apt /root/.cache /home/mininet/.cache \
        /usr/sbin/policy-rc.d /etc/dpkg/dpkg.cfg.d/quick
    ln -sf /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
}

install_system
configure_system
add_user
set_up_project
make_boot_loader
tidy
