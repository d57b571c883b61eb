#!/usr/bin/env bash
# Make a bootable raw disk of an unpacked system: disk.sh SYSTEM DISK ARCH GIB ROOT_UUID. Part of make-vm.sh.
#
#   sector 0      MBR with GRUB's boot.img (BIOS), then the GPT
#   1 MiB         BIOS boot partition: GRUB's core.img          (amd64 only)
#   2 MiB         EFI system partition, FAT32: EFI/BOOT/BOOT*.EFI
#   66 MiB        ext4, the root
#
# No loop device: mke2fs and mtools write into the file at an offset.
set -euo pipefail

system=$1 disk=$2 arch=$3 gib=$4 uuid=$5
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MIB=$((1024 * 1024))
BIOS_MIB=1 EFI_MIB=2 ROOT_MIB=66
ROOT_SIZE_MIB=$((gib * 1024 - ROOT_MIB - 1))      # the last MiB holds the GPT's copy

# The features that Debian 12's GRUB and e2fsck know, whatever this machine's mke2fs would add.
FEATURES=none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file
FEATURES+=,dir_nlink,extra_isize,metadata_csum

truncate -s "${gib}G" "$disk"
{
    echo "label: gpt"
    [[ $arch != amd64 ]] || echo "start=$((BIOS_MIB * 2048)), size=2048, type=21686148-6449-6E6F-744E-656564454649, name=bios"
    echo "start=$((EFI_MIB * 2048)), size=$(((ROOT_MIB - EFI_MIB) * 2048)), type=U, name=efi"
    echo "start=$((ROOT_MIB * 2048)), size=$((ROOT_SIZE_MIB * 2048)), type=L, name=root"
} | sfdisk --quiet "$disk"

mke2fs -q -F -t ext4 -O "$FEATURES" -m 1 -U "$uuid" -L tfo-lab -d "$system" -E "offset=$((ROOT_MIB * MIB))" \
    "$disk" "${ROOT_SIZE_MIB}M"

efi="$disk@@$((EFI_MIB * MIB))"
export MTOOLS_SKIP_CHECK=1
mformat -i "$efi" -F -T $(((ROOT_MIB - EFI_MIB) * 2048)) -v EFI ::
# mformat leaves a partition table in the partition's own boot sector, for floppies' sake, and GRUB complains of it.
dd if=/dev/zero of="$disk" bs=1 seek=$((EFI_MIB * MIB + 446)) count=64 conv=notrunc status=none
mmd -i "$efi" ::/EFI ::/EFI/BOOT
mcopy -i "$efi" "$system"/boot/grub/BOOT*.EFI ::/EFI/BOOT/

if [[ $arch == amd64 ]]; then
    python3 "$HERE/bios_boot.py" "$disk" "$system/usr/lib/grub/i386-pc/boot.img" "$system/boot/grub/core.img" \
        $((BIOS_MIB * 2048))
fi
