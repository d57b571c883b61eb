"""The scripts that show and set the machine's TFO switch, run in namespaces that are thrown away."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.ran import ran

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "tfo-test"
ENABLE, DISABLE, STATUS = (SCRIPTS / f"{name}_tfo.sh" for name in ("enable", "disable", "status"))
NOBODY = 65534


def _in_new_namespace(command: str) -> str:
    """Return what a shell prints in a network namespace of its own, where net.ipv4.tcp_fastopen starts with 1."""
    return subprocess.run(["unshare", "--net", "bash", "-ec", command], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


@pytest.mark.root
def test_enable_and_disable_set_the_kernel() -> None:
    value = "cat /proc/sys/net/ipv4/tcp_fastopen"
    assert _in_new_namespace(f"{ENABLE}; {value}; {DISABLE}; {value}") == (
        "net.ipv4.tcp_fastopen: 1 -> 3\n3\n"
        "net.ipv4.tcp_fastopen: 3 -> 0\n0\n")


@pytest.mark.root
@pytest.mark.parametrize(("value", "on"), [
    (0, []), (1, ["0x001"]), (3, ["0x001", "0x002"]), (0x605, ["0x001", "0x004", "0x200", "0x400"]),
])
def test_status_names_the_bits_that_are_on(value: int, on: list[str]) -> None:
    lines = _in_new_namespace(f"echo {value} >/proc/sys/net/ipv4/tcp_fastopen; {STATUS}").splitlines()
    assert lines[0] == f"net.ipv4.tcp_fastopen = {value} ({value:#x})"
    assert [line.split()[0] for line in lines[1:] if line.split()[1] == "on"] == on
    assert [line.split()[0] for line in lines[1:]] == ["0x001", "0x002", "0x004", "0x200", "0x400"]


def _as_nobody(script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script without root. Bash reads it from its input, because nobody may not enter every directory."""
    user = NOBODY if os.geteuid() == 0 else None
    return ran("bash", "-s", cwd="/", input=script.read_text(), user=user, group=user,
               extra_groups=[] if user else None)


@pytest.mark.parametrize("script", [ENABLE, DISABLE])
def test_the_others_refuse_without_root_in_one_line(script: Path) -> None:
    answer = _as_nobody(script)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("root is needed")
    assert answer.stderr.count("\n") == 1
