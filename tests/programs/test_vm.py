"""make-vm.sh and run-vm.sh without a VM: what they refuse, what they would do, and what they hand on."""

import hashlib
import os
import shutil
import socket
import struct
import subprocess
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.bootstrap import ROOT
from scripts.vm.bios_boot import mbr_code, placed_core
from tests.support.ran import ran

QEMU = """#!/bin/sh
case "$*" in "-device help") exit 0 ;; esac
[ -z "$QEMU_FAILS" ] || { echo "no such machine" >&2; exit 1; }
echo $$ >"$STATE/qemu"
exec sleep 50
"""
SSH = """#!/bin/sh
for line; do :; done
case "$line" in *poweroff*) kill "$(cat "$STATE/qemu")" ;; *) cd "$STATE" && exec sh -c "$line" ;; esac
"""
"""Stand-ins: a VM that is a sleeping process, and an SSH that runs the command line it is given here."""


def run(script: str, *arguments: str, status: int | None = None, **environment: str
        ) -> "subprocess.CompletedProcess[str]":
    return ran(ROOT / "scripts" / script, *arguments, status=status, env={**os.environ, **environment})


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Return the environment in which QEMU and SSH are stand-ins; TMPDIR shows what is left behind."""
    for name, text in {"qemu-system-x86_64": QEMU, "ssh": SSH}.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "tfo-lab").mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "image").touch()
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "STATE": str(tmp_path),
            "TMPDIR": str(tmp_path / "scratch")}


def run_vm(machine: dict[str, str], *arguments: str, status: int | None = None, **more: str
           ) -> "subprocess.CompletedProcess[str]":
    image = f"{machine['STATE']}/image"
    return run("run-vm.sh", "--arch", "amd64", "--image", image, *arguments, status=status, **machine, **more)


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_make_vm_says_what_it_would_do(arch: str, tmp_path: Path) -> None:
    done = run("make-vm.sh", "--dry-run", "--arch", arch, "--disk", "20", "--output", str(tmp_path / "vm"), status=0)
    assert f"linux-image-{arch}" in done.stdout
    assert "20 GiB" in done.stdout
    assert f"{tmp_path}/vm/tfo-lab-{arch}.qcow2" in done.stdout
    assert not (tmp_path / "vm").exists()


@pytest.mark.skipif(not shutil.which("qemu-img"), reason="no qemu-img")
def test_an_ova_is_a_described_disk_and_says_its_own_sums(tmp_path: Path) -> None:
    ran("qemu-img", "create", "-q", "-f", "qcow2", tmp_path / "disk.qcow2", "1G", status=0)
    ran(ROOT / "scripts" / "vm" / "ova.sh", tmp_path / "disk.qcow2", "lab", tmp_path / "lab.ova", "1", status=0)
    with tarfile.open(tmp_path / "lab.ova") as ova:
        files = {member.name: ova.extractfile(member).read() for member in ova}     # type: ignore[union-attr]
    assert [*files] == ["lab.ovf", "lab.mf", "lab.vmdk"], "the description first (DSP0243, 5.3)"
    assert files["lab.mf"].decode().splitlines() == [
        f"SHA1({name})= {hashlib.sha1(files[name]).hexdigest()}" for name in ("lab.ovf", "lab.vmdk")]
    described = ElementTree.fromstring(files["lab.ovf"])
    ovf = "{http://schemas.dmtf.org/ovf/envelope/1}"
    assert described.find(f".//{ovf}File").get(f"{ovf}size") == str(len(files["lab.vmdk"]))     # type: ignore[union-attr]
    assert described.find(f".//{ovf}Disk").get(f"{ovf}capacity") == str(2**30)                  # type: ignore[union-attr]
    assert (tmp_path / "lab.ova.sha256").read_text().split()[0] == hashlib.sha256(
        (tmp_path / "lab.ova").read_bytes()).hexdigest()


def test_run_vm_says_how_it_would_start(machine: dict[str, str]) -> None:
    line = run_vm(machine, "--dry-run", "--accel", "tcg", "--port", "2300", "--snapshot").stdout.replace("\\", "")
    assert line.startswith("qemu-system-x86_64 -machine q35 -accel tcg -cpu max ")
    assert "hostfwd=tcp:127.0.0.1:2300-:22" in line, "to this machine only"
    assert "-snapshot" in line
    assert not (Path(machine["STATE"]) / "qemu").exists()


def test_run_vm_hands_on_words_output_and_status(machine: dict[str, str]) -> None:
    done = run_vm(machine, "--", "sh", "-c", 'basename "$PWD"; echo "$1" >&2; exit 7', "sh", "two  words; $HOME",
                  status=7)
    assert done.stdout == "tfo-lab\n"
    assert "two  words; $HOME\n" in done.stderr
    pid = (Path(machine["STATE"]) / "qemu").read_text().strip()
    assert not Path("/proc", pid).exists()
    assert not list(Path(machine["TMPDIR"]).iterdir())


def test_run_vm_runs_nothing_in_another_vm(machine: dict[str, str]) -> None:
    """QEMU could not have the port, SSH led to who had it, and the command ran there: in a classmate's VM, say."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run_vm(machine, "--port", str(port), "--", "touch", "ran")
    assert done.returncode == 2
    assert f"--port {port}: " in done.stderr
    assert not (Path(machine["STATE"]) / "tfo-lab" / "ran").exists()
    assert not (Path(machine["STATE"]) / "qemu").exists()


def test_bios_boot_code_says_where_the_rest_lies() -> None:
    core = bytearray(5 * 512 - 100)
    struct.pack_into("<QHH", core, 500, 1, 4, 0x820)
    assert struct.unpack_from("<QHH", placed_core(bytes(core), 2048), 500) == (2049, 4, 0x820)
    code = mbr_code(bytes([0xEB]) * 512, 2048)
    assert len(code) == 440, "the partition table behind it stays"
    assert struct.unpack_from("<Q", code, 0x5C) == (2048,)
    with pytest.raises(ValueError):
        placed_core(bytes(core) + bytes(512), 2048)
