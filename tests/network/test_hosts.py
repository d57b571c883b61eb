"""Other machines than this one: their firewalls, programs and kernels, as far as namespaces and false programs go."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import PYTHON, ROOT
from harness.errors import InputError
from harness.network import needs
from harness.network.needs import check_kernel
from harness.network.programs import run_on_user
from harness.network.star import Host
from harness.system import environment
from harness.system.namespaces import inside
from harness.system.privileges import User
from harness.system.tcp import listen
from tests.support.namespaces import host_with
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.recording import one_document

pytestmark = pytest.mark.root

ALL_DROPPED = """
for chain in INPUT FORWARD OUTPUT; do iptables -P $chain DROP; done
[ ! -e /proc/sys/net/bridge ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
[ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
"""
"""More than Docker (FORWARD), ufw (INPUT, FORWARD) and firewalld do; in a namespace that stands for the root one."""


def path_with(directory: Path, program: str, does: str) -> dict[str, str]:
    """Return an environment in which `program` is a script that `does` something else."""
    directory.mkdir(exist_ok=True)
    (directory / program).write_text(f"#!/bin/sh\n{does}\n")
    (directory / program).chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


@pytest.mark.timing
@pytest.mark.parametrize("iptables", ["iptables-nft", "iptables-legacy"])
def test_a_star_on_a_machine_that_drops_all_packets(iptables: str, tmp_path: Path) -> None:
    """What --on-user runs reaches a server, no page is loaded, and its exit status is passed on."""
    program = shutil.which(iptables)
    if program is None or subprocess.run(["unshare", "--net", program, "-t", "mangle", "-L"], capture_output=True,
                                         check=False).returncode != 0:
        pytest.skip(f"no {iptables} here")
    base = one_document(tmp_path)
    measured = [*TFO, "--dir", base, "--name", "small", "--delaynet", 10, "--on-user",
                "sh -c 'curl -s --connect-to ::10.0.0.2:8000 http://one.test/; exit 7'"]
    done = ran("unshare", "--net", "sh", "-ec", f'{ALL_DROPPED} exec "$@"', "sh", *measured, status=7,
               env=path_with(tmp_path / "bin", "iptables", f'exec {program} "$@"'))
    assert "20 ms wanted" in done.stdout
    assert "One small document." in done.stdout
    assert not (base / "client").exists()


@pytest.mark.parametrize("command", ["no-such-program", "'unclosed", ""])
def test_what_cannot_be_started_on_user_is_said(command: str) -> None:
    with pytest.raises(InputError, match=r"^tfo\.py: --on-user: "):
        run_on_user(Host("user", "", "", "lo", os.getpid()), command, User("nobody", 65534, 65534))


@pytest.mark.parametrize(("program", "does", "problem"), [
    ("ip", "echo RTNETLINK answers: Operation not supported >&2; exit 2", r"veth.*: RTNETLINK"),
    ("tc", "echo Error: Specified qdisc kind is unknown. >&2; exit 2", "sch_htb.*: Error: "),
    ("iptables", "echo iptables: No chain/target/match by that name. >&2; exit 2", "netem.*NFQUEUE.*: iptables: No "),
    # iptables-legacy -w waits for /run/xtables.lock, which all namespaces share.
    ("iptables", "exec sleep 60", f"NFQUEUE.*`{needs.NFQUEUE}` did not end in 5 s")])
def test_a_kernel_that_lacks_a_part(program: str, does: str, problem: str, tmp_path: Path,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = path_with(tmp_path, program, does)
    check_kernel(delay_line=True)
    monkeypatch.setenv("PATH", lacking["PATH"])
    if "sleep" in does:
        monkeypatch.setattr(needs, "TIMEOUT_S", 5)
    with pytest.raises(InputError, match=problem):
        check_kernel(delay_line=True)
    if program == "iptables":
        check_kernel(delay_line=False)


@pytest.mark.parametrize(("lacking", "command", "status", "problem"), [
    ("-sys_admin", ["-c", "from harness.errors import run_main; from harness.network.needs import check_kernel; "
      "run_main(lambda: check_kernel(delay_line=True))"], 69, "no network namespace can be set up here ("),
    ("-sys_nice", ["-c", "from harness.errors import run_main; from harness.system.delay_queue import be_punctual; "
      "run_main(be_punctual)"], 1, "no priority over other"),
])
def test_a_container_without_a_privilege(lacking: str, command: list[str], status: int, problem: str) -> None:
    done = ran("unshare", "--net", "setpriv", "--bounding-set", lacking, "--inh-caps", lacking, "--", PYTHON, *command,
               cwd=ROOT)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert done.stderr.startswith(problem)
    assert "docs/install.md" in done.stderr


def test_servers_use_cubic_whatever_the_default() -> None:
    with host_with("echo reno >/proc/sys/net/ipv4/tcp_congestion_control; ip link set lo up") as host:
        assert environment.sysctls(host.pid)["net.ipv4.tcp_congestion_control"] == "reno"
        assert environment.server_congestion_control(host.pid) == "cubic"
        with inside(host.pid), listen("127.0.0.1", 8000) as listener:
            with socket.create_connection(("127.0.0.1", 8000)), listener.accept()[0] as accepted:
                used = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert used.rstrip(b"\0") == b"cubic"
