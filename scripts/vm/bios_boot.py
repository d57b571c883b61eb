"""Make a disk image boot by BIOS: what grub-bios-setup does, on a file and without a device. Part of make-vm.sh.

GRUB's boot.img goes into the MBR and is told where core.img lies; core.img, which lies in one piece in the BIOS boot
partition, is told where its second sector does. The places of these fields are those of GRUB 2's own headers
(include/grub/i386/pc/boot.h): GRUB_BOOT_MACHINE_KERNEL_SECTOR 0x5c, GRUB_BOOT_MACHINE_DRIVE_CHECK 0x66, and the first
block list at the end of core.img's first sector, 12 bytes: start (64 bit), length and segment (16 bit each).
"""

import struct
import sys
from pathlib import Path

SECTOR = 512
CODE_BYTES = 440
"""Of the MBR: behind it are the disk's signature and the partition table, which stay."""
KERNEL_SECTOR = 0x5C
DRIVE_CHECK = 0x66
NOPS = b"\x90\x90"
BLOCK_LIST = SECTOR - 12


def mbr_code(boot_image: bytes, core_sector: int) -> bytes:
    """Return the 440 bytes of code for the MBR. `core_sector` is where core.img begins, counted in 512-byte sectors."""
    code = bytearray(boot_image[:CODE_BYTES])
    struct.pack_into("<Q", code, KERNEL_SECTOR, core_sector)
    # Setup on a hard disk takes the check out that makes boot.img believe a BIOS which says it booted from a floppy.
    code[DRIVE_CHECK:DRIVE_CHECK + 2] = NOPS
    return bytes(code)


def placed_core(core_image: bytes, core_sector: int) -> bytes:
    """Return core.img as it has to be when it begins at `core_sector`.

    Raises ValueError when its block list does not cover the rest of it: then this is no core.img.
    """
    start, sectors, _ = struct.unpack_from("<QHH", core_image, BLOCK_LIST)
    rest = -(-len(core_image) // SECTOR) - 1
    if sectors != rest:
        raise ValueError(f"core.img says {sectors} sectors from {start} on follow its first one; {rest} do")
    core = bytearray(core_image)
    struct.pack_into("<Q", core, BLOCK_LIST, core_sector + 1)
    return bytes(core)


def main(disk: str, boot_image: str, core_image: str, core_sector: str) -> None:
    """Write both into the disk image."""
    sector = int(core_sector)
    with Path(disk).open("r+b") as file:
        file.write(mbr_code(Path(boot_image).read_bytes(), sector))
        file.seek(sector * SECTOR)
        file.write(placed_core(Path(core_image).read_bytes(), sector))


if __name__ == "__main__":
    main(*sys.argv[1:])
