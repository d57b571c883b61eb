"""The replay servers as processes: start, end, namespaces, users, TCP Fast Open."""

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from harness.replay.connection import IDLE_LIMIT_S
from harness.system.namespaces import inside
from harness.system.processes import is_running
from tests.support.namespaces import own_namespace
from tests.support.noted import each_case
from tests.support.ran import ran
from tests.support.recording import HOST
from tests.support.replay_process import (
    ONE_HOST,
    free_port,
    make_recording,
    read_all,
    refusal,
    running,
    start,
)
from tests.support.waiting import wait_until

NOBODY = 65534
MANY = "".join(f"{HOST} 127.0.0.{number} -\n" for number in range(1, 11))
SYSCTL = Path("/proc/sys/net/ipv4/tcp_fastopen")


@pytest.fixture
def recording(open_to_all: Path) -> Path:
    """Give a recording where the servers' user may write its logs."""
    if os.geteuid() == 0:
        os.chown(open_to_all, NOBODY, NOBODY)
    make_recording(open_to_all)
    return open_to_all


def ask(address: str, port: int, *, data_in_syn: bool = False) -> bytes:
    with socket.socket() as connection:
        if not data_in_syn:
            connection.connect((address, port))
        connection.sendto(b"GET / HTTP/1.0\r\n\r\n", socket.MSG_FASTOPEN * data_in_syn, (address, port))
        return read_all(connection)


@pytest.mark.root
@pytest.mark.parametrize("user", [(), ("--user", f"{NOBODY}:{NOBODY}"), ("--user", "0:0")])
def test_servers_live_in_their_namespace_never_as_root_see_data_in_syns_and_log_each_setting(
        recording: Path, user: tuple[str, ...]) -> None:
    if user == ("--user", f"{NOBODY}:{NOBODY}"):
        recording.chmod(0o700)    # as /root is: the servers' user cannot get here
    with own_namespace() as namespace, running(recording, *user, hosts=(
            f"{HOST} 127.0.0.1 /proc/{namespace}/ns/net\nb.test 127.0.0.2 -\n")) as server:
        pids = server.children()
        spaces = [Path(f"/proc/{pid}/ns/net").readlink() for pid in pids]
        assert sorted(spaces) == sorted(Path(f"/proc/{who}/ns/net").readlink() for who in (namespace, "self"))
        for pid in pids:
            status = Path(f"/proc/{pid}/status").read_text()
            assert f"Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}\t{NOBODY}" in status
            assert "CapEff:\t0000000000000000" in status
        assert ask("127.0.0.2", server.port).endswith(b"\r\n\r\nb")
        with inside(namespace):
            for setting, data in (("3", True), ("3", True), ("3", True), ("3", False), ("0", False), ("3", True)):
                SYSCTL.write_text(setting)
                assert ask("127.0.0.1", server.port, data_in_syn=data).endswith(b"front")
        assert [(line.connection, line.syn_data) for line in server.log(1)] == [
            (1, False), (2, True), (3, True), (4, False), (6, True)], "the first asked for the cookie"
        assert [(line.connection, line.syn_data) for line in server.log(0)] == [(5, False)]
        logs = list(server.logdir.rglob("*.test"))
        assert {log.name for log in logs} == {HOST, "b.test"}
        owner = NOBODY if "0:0" not in user and user else 0
        assert {path.stat().st_uid for log in logs for path in (log, log.parent)} == {owner}


@pytest.mark.parametrize(("number", "to", "status", "says"), [
    (signal.SIGHUP, "parent", 0, ""), (signal.SIGINT, "all", 130, ""), (signal.SIGKILL, "parent", -9, ""),
    (signal.SIGKILL, "one", 1, f"{HOST}: its server ended (status -9)\n")])
def test_who_gets_a_signal_takes_all_with_it(recording: Path, number: signal.Signals, to: str, status: int, says: str
                                             ) -> None:
    """Ctrl-C reaches the whole group. What was answered is logged. SIGTERM (below) is as SIGHUP."""
    user = ("--user", f"{NOBODY}:{NOBODY}") if os.geteuid() == 0 else ()    # changing the user resets PR_SET_PDEATHSIG
    with running(recording, *user, hosts=MANY) as ten:
        pids, parent = ten.children(), ten.process.pid
        assert len(pids) == 10
        for _ in range(3):
            ten.get("/x.css")
        with ten.connect():    # also while a connection is open
            begin = time.monotonic()
            for pid in {"parent": [parent], "all": [*pids, parent], "one": [pids[3]]}[to]:
                os.kill(pid, number)
            _, complaint = ten.process.communicate()
        assert time.monotonic() - begin < IDLE_LIMIT_S / 2, "it did not wait for the open connection"
        assert (ten.process.returncode, complaint) == (status, says)
        wait_until(lambda: not any(map(is_running, pids)))
        assert [line.connection for line in ten.log()][:3] == [1, 2, 3]


def test_a_signal_during_the_start_leaves_nobody(recording: Path) -> None:
    server = start(recording, hosts=MANY)
    wait_until(lambda: is_listening("127.0.0.1", server.port))
    pids = server.children()
    server.process.terminate()
    server.process.communicate()
    assert server.process.returncode == 0
    wait_until(lambda: not any(map(is_running, pids)))


def test_port_in_use(recording: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.7", port)):
        line = refusal(recording, hosts=MANY, port=port)
    assert line == (f"127.0.0.7:{port}: address already in use; stop what listens there or choose another --port\n")
    wait_until(lambda: not any(is_listening(f"127.0.0.{number}", port) for number in range(1, 11)))


def is_listening(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def test_a_restart_is_not_kept_off_by_connections_just_closed(recording: Path) -> None:
    port = free_port()
    for options, backlog in (((), 1024), (("--server", "2013"), 5)):
        with running(recording, *options, port=port) as server:
            assert server.get("/x.css")[1] == b"p{}"
            listening = ran("ss", "-Hltn", f"sport = :{port}", status=0).stdout.split()
            assert int(listening[2]) == backlog
    assert [line.connection for line in server.log()] == [1, 1]
    assert [path.read_text().count("#") for path in server.logdir.rglob(HOST)] == [1, 1]


@each_case("replay/refusals.jsonl")
def test_bad_input_is_one_line(recording: Path, case: dict[str, Any]) -> None:
    """Options, or the lines of hosts, and what is said."""
    assert case["says"] in refusal(recording, *case.get("options", ()), hosts=case.get("hosts", ONE_HOST))
