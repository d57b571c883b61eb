"""make-vm.sh and run-vm.sh without a VM: what they refuse, what they would do, and what they hand on."""

import hashlib
import os
import shutil
import socket
import struct
import subprocess
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from scripts.vm.bios_boot import mbr_code, placed_core
from tests.support.ran import ran

SCRIPTS = ROOT / "scripts"
QEMU = """#!/bin/sh
case "$*" in "-device help") exit 0 ;; esac
echo $$ >"$STATE/qemu"
exec sleep 50
"""
SSH = """#!/bin/sh
for line; do :; done
case "$line" in *poweroff*) kill "$(cat "$STATE/qemu")" ;; *) cd "$STATE" && exec sh -c "$line" ;; esac
"""
"""Stand-ins: a VM that is a sleeping process, and an SSH that runs the command line it is given here."""


RunVm = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_vm(tmp_path: Path) -> RunVm:
    """Give what runs run-vm.sh with stand-ins for QEMU and SSH; TMPDIR shows what is left behind."""
    for name in ("bin", "tfo-lab", "scratch"):
        (tmp_path / name).mkdir()
    for name, text in {"bin/qemu-system-x86_64": QEMU, "bin/ssh": SSH, "image": ""}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "STATE": str(tmp_path),
                   "TMPDIR": str(tmp_path / "scratch")}
    return partial(ran, SCRIPTS / "run-vm.sh", "--arch", "amd64", "--image", tmp_path / "image", env=environment)


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_make_vm_says_what_it_would_do(arch: str, tmp_path: Path) -> None:
    done = ran(SCRIPTS / "make-vm.sh", "--dry-run", "--arch", arch, "--disk", "20", "--output", tmp_path / "vm",
               status=0)
    for words in (f"linux-image-{arch}", "20 GiB", f"{tmp_path}/vm/tfo-lab-{arch}.qcow2"):
        assert words in done.stdout
    assert not (tmp_path / "vm").exists()


@pytest.mark.skipif(not shutil.which("qemu-img"), reason="no qemu-img")
def test_an_ova_is_a_described_disk_and_says_its_own_sums(tmp_path: Path) -> None:
    ran("qemu-img", "create", "-q", "-f", "qcow2", tmp_path / "disk.qcow2", "1G", status=0)
    ran(SCRIPTS / "vm" / "ova.sh", tmp_path / "disk.qcow2", "lab", tmp_path / "lab.ova", "1", status=0)
    with tarfile.open(tmp_path / "lab.ova") as ova:
        files = {member.name: ova.extractfile(member).read() for member in ova}     # type: ignore[union-attr]
    assert [*files] == ["lab.ovf", "lab.mf", "lab.vmdk"], "the description first (DSP0243, 5.3)"
    assert files["lab.mf"].decode().splitlines() == [
        f"SHA1({name})= {hashlib.sha1(files[name]).hexdigest()}" for name in ("lab.ovf", "lab.vmdk")]
    described = files["lab.ovf"].decode()
    assert f'ovf:size="{len(files["lab.vmdk"])}"' in described
    assert f'ovf:capacity="{2**30}"' in described
    assert (tmp_path / "lab.ova.sha256").read_text().split()[0] == hashlib.sha256(
        (tmp_path / "lab.ova").read_bytes()).hexdigest()


def test_run_vm_says_how_it_would_start(run_vm: RunVm, tmp_path: Path) -> None:
    line = run_vm("--dry-run", "--accel", "tcg", "--port", "2300", "--snapshot").stdout.replace("\\", "")
    assert line.startswith("qemu-system-x86_64 -machine q35 -accel tcg -cpu max ")
    assert "hostfwd=tcp:127.0.0.1:2300-:22" in line, "to this machine only"
    assert "-snapshot" in line
    assert not (tmp_path / "qemu").exists()


def test_run_vm_hands_on_words_output_and_status(run_vm: RunVm, tmp_path: Path) -> None:
    done = run_vm("--", "sh", "-c", 'basename "$PWD"; echo "$1" >&2; exit 7', "sh", "two  words; $HOME", status=7)
    assert done.stdout == "tfo-lab\n"
    assert "two  words; $HOME\n" in done.stderr
    assert not Path("/proc", (tmp_path / "qemu").read_text().strip()).exists()
    assert not list((tmp_path / "scratch").iterdir())


def test_run_vm_runs_nothing_in_another_vm(run_vm: RunVm, tmp_path: Path) -> None:
    """QEMU could not have the port, SSH led to who had it, and the command ran there: in a classmate's VM, say."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run_vm("--port", port, "--", "touch", "ran", status=2)
    assert f"--port {port}: " in done.stderr
    assert not {"ran", "qemu"} & {path.name for path in tmp_path.rglob("*")}


def test_bios_boot_code_says_where_the_rest_lies() -> None:
    core = bytearray(5 * 512 - 100)
    struct.pack_into("<QHH", core, 500, 1, 4, 0x820)
    assert struct.unpack_from("<QHH", placed_core(bytes(core), 2048), 500) == (2049, 4, 0x820)
    code = mbr_code(bytes([0xEB]) * 512, 2048)
    assert len(code) == 440, "the partition table behind it stays"
    assert struct.unpack_from("<Q", code, 0x5C) == (2048,)
    with pytest.raises(ValueError):
        placed_core(bytes(core) + bytes(512), 2048)
