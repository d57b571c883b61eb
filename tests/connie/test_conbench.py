"""connie's benchmarks as they are typed: their lines, their arithmetic, and what they say of bad input."""

import asyncio
import math
import os
import re
import runpy
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connie.bench.own_server import running_server
from connie.bench.peers import Asynchronous, Curl, open_aiohappyeyeballs, open_asyncio, open_peers
from connie.bench.rounds import run_rounds
from connie.bench.strategies import CACHES, FAST_OPEN, OWN
from connie.bench.summary import CallTimes, format_line, percentile
from tests.support import forked
from tests.support.connie_hosts import WAIT_S, Names, names, refusing, silent

__all__ = ["names"]

CONNIE = Path(__file__).resolve().parent.parent.parent / "connie"
LINE = re.compile(r"(\w+): count (\d+), total (\d+\.\d{4}), per call: (\d+\.\d{4}), std dev: (\d+\.\d{4}), "
                  r"median: (\d+\.\d{6}), p95: (\d+\.\d{6}), p99: (\d+\.\d{6}), errors: (\d+)")
CURL = shutil.which("curl")
NONE_LINE = "slow: count 0, total 0.0000, per call: -, std dev: -, median: -, p95: -, p99: -, errors: 1"


def typed(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(CONNIE / script), *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_the_line_of_2013() -> None:
    times_s = [0.05, 0.06, 0.07, 0.08, 0.14]
    line = format_line("connie_connect", CallTimes(times_s))
    assert line == ("connie_connect: count 5, total 0.4000, per call: 0.0800, std dev: 0.0354, "
                    "median: 0.070000, p95: 0.128000, p99: 0.137600, errors: 0")


def test_who_gives_up_does_not_look_quick() -> None:
    """Of 300 connects half failed, and the p99 was that of the others, far below that of who waited for all."""
    assert ("count 150, total 7.5000, per call: 0.0500, std dev: 0.0000, median: failed, p95: failed, p99: failed, "
            "errors: 150") in format_line("cached_dns_connect", CallTimes([0.05] * 150, ["timed out"] * 150))
    one_of_three = format_line("any", CallTimes([0.05, 0.06], ["no"]))
    assert "median: 0.060000, p95: failed, p99: failed, errors: 1" in one_of_three


def test_the_deviation_is_not_that_of_2013() -> None:
    """300 calls that differ by 50 ms have a deviation of 50 ms; divided by n outside the root it would be 2.9 ms."""
    times_s = [0.05, 0.15] * 150
    found = LINE.match(format_line("any", CallTimes(times_s)))
    assert found is not None
    by_hand = math.sqrt(sum((time_s - 0.1) ** 2 for time_s in times_s) / (300 - 1))
    assert found.group(5) == f"{by_hand:.4f}" == "0.0501"


def test_no_call_and_one_call() -> None:
    assert format_line("slow", CallTimes([], ["timed out"])) == NONE_LINE
    assert "per call: 0.5000, std dev: -, median: 0.500000, p95: 0.500000" in format_line("once", CallTimes([0.5]))


@given(st.lists(st.floats(0, 100), min_size=2, max_size=50))
def test_percentiles_are_those_of_the_statistics_module(values: list[float]) -> None:
    expected = statistics.quantiles(values, n=100, method="inclusive")
    for percent in (1, 50, 95, 99):
        assert percentile(values, percent) == pytest.approx(expected[percent - 1], abs=1e-9)


def test_rounds_are_fair_and_keep_errors() -> None:
    calls: list[tuple[str, str]] = []

    def good(host: str) -> float:
        calls.append(("good", host))
        return 1.0

    def bad(host: str) -> float:
        calls.append(("bad", host))
        raise ConnectionRefusedError(f"no {host}")

    found = run_rounds({"good": good, "bad": bad}, ["a", "b"], rounds=20, seed=3)
    assert found["good"].times_s == [1.0] * 20
    assert found["bad"].errors == ["a: no a", "b: no b"] * 10
    rounds = [calls[first:first + 2] for first in range(0, 40, 2)]
    assert all({name for name, _ in calls} == {"good", "bad"} and calls[0][1] == calls[1][1] for calls in rounds)
    assert len({calls[0][0] for calls in rounds}) == 2, "the same strategy was always first"


@pytest.mark.parametrize(("script", "names"), [
    ("conbench.py", ["connie_connect", "cached_dns_connect", "create_connection"]),
    ("httpbench.py", ["ConnieHTTPConnection", "CachedDNSHTTPConnection", "HTTPConnection"])])
def test_loopback_as_the_issue_types_it(script: str, names: list[str]) -> None:
    done = typed(script, "127.0.0.1", "localhost", "--rounds", "10")
    assert done.returncode == 0, done.stderr
    lines = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert [line and (line[1], line[2], line[9]) for line in lines] == [(name, "10", "0") for name in names]


def test_certificate_authorities_are_read_before_the_times_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of --https read them anew, and 20 ms of that were in every time."""
    read: list[str] = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: read.append("authorities"))
    monkeypatch.setattr(sys, "path", [*sys.path])               # the program changes it
    program = runpy.run_path(str(CONNIE / "httpbench.py"))
    with refusing() as (host, port):
        calls = program["fetch_calls"](True, port, 5)
        for call in [*calls.values()] * 2:
            with pytest.raises(ConnectionRefusedError):
                call(host)
    assert list(calls) == ["ConnieHTTPSConnection", "CachedDNSHTTPSConnection", "HTTPSConnection"]
    assert read == ["authorities"]


def test_the_machines_own_name_leads_to_its_own_server() -> None:
    """Debian's /etc/hosts gives it 127.0.1.1, where the server that was said to be measured did not listen."""
    done = typed("conbench.py", "127.0.1.1", "localhost", "--rounds", "4")
    assert (done.returncode, done.stdout.count("count 4, "), done.stdout.count("errors: 0")) == (0, 3, 3), done.stderr


def test_every_strategy_waits_for_its_own_lookups(names: Names) -> None:
    """Of names that are met once, half of either caching strategy's lookups were in the other's times."""
    with running_server(["127.0.0.1"]) as port:
        names.hosts["met-once.test"] = [("127.0.0.1", port)]
        asked = []
        for strategy in [*OWN, *OWN]:
            strategy.measure("met-once.test", port, 5)
            asked.append(len(names.asked))
    assert asked == [1, 2, 3, 3, 3, 4]


def test_the_ways_of_fast_open_share_their_lookups(names: Names) -> None:
    """Racing without TFO alone had a cache of its own: it waited for all its lookups, and the others shared theirs."""
    for cache in CACHES:
        cache.clear()
    with running_server(["127.0.0.1"]) as port:
        names.hosts["fast-open.test"] = [("127.0.0.1", port)]
        for way in FAST_OPEN:
            way.measure("fast-open.test", port, 5, b"GET / HTTP/1.0\r\n\r\n")
    assert len(names.asked) == 1


def test_every_strategy_reaches_a_server() -> None:
    with running_server() as port, open_peers() as peers:
        for strategy in [*OWN, *peers]:
            sample = strategy.measure("localhost", port, 5, b"GET / HTTP/1.0\r\n\r\n")
            assert sample.address in ("127.0.0.1", "::1"), strategy.name
            assert sample.first_byte_s is not None
            assert 0 <= sample.connect_s <= sample.first_byte_s, strategy.name
    assert {strategy.name for strategy in peers} >= {"asyncio", "aiohappyeyeballs"}


@pytest.mark.skipif(CURL is None, reason="no curl here")
def test_curl_has_connected_whatever_the_server_says_to_its_request() -> None:
    """Of --peers --port 443 all of curl's connects were errors: it speaks no TLS to a port that is no web server's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_alert_and_close, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        assert Curl(str(CURL)).measure("127.0.0.1", port, 5).connect_s > 0
        with pytest.raises(OSError, match="curl: "):
            Curl(str(CURL)).measure("127.0.0.1", port, 5, b"GET / HTTP/1.0\r\n\r\n")


def _alert_and_close(server: socket.socket) -> None:
    """Answer two connections as TLS answers what is none: "unexpected_message" (RFC 8446, section 6)."""
    for _ in range(2):
        with server.accept()[0] as sock:
            sock.recv(1000)
            sock.sendall(b"\x15\x03\x01\x00\x02\x02\x0a")


@pytest.mark.parametrize("open_peer", [open_asyncio, open_aiohappyeyeballs])
def test_ctrl_c_ends_what_asyncio_began(open_peer: Callable[[], AbstractContextManager[Asynchronous]]) -> None:
    """Tasks stayed behind in a closed event loop, and Python's end complained about them with a traceback."""
    begun: set[asyncio.Task[Any]] = set()

    def interrupt() -> None:
        begun.update(asyncio.all_tasks(peer.loop))
        signal.raise_signal(signal.SIGINT)

    with silent() as (host, port), pytest.raises(KeyboardInterrupt), open_peer() as peer:   # noqa: PT012  # both are it
        peer.loop.call_later(0.05, interrupt)
        peer.measure(host, port, WAIT_S)
    assert begun
    assert all(task.done() for task in begun)


def test_a_strategy_that_never_succeeds_fails_the_run() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))                # nobody listens there, and nobody else can
        done = typed("conbench.py", "--peers", "127.0.0.1", "--rounds", "2", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert all(": count 0, total 0.0000, per call: -" in line for line in lines)
    assert "create_connection: 2 x 127.0.0.1: [Errno 111] Connection refused" in done.stderr
    for strategy in (line.partition(":")[0] for line in lines):     # curl's words hold a time, which may be another
        assert re.search(rf"^{strategy}: [12] x 127\.0\.0\.1: ", done.stderr, re.MULTILINE)


def test_a_name_that_cannot_be_one_is_an_error_like_any_other() -> None:
    done = typed("conbench.py", "x" * 64 + ".test", "127.0.0.1", "--rounds", "2", "--port", "9")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("arguments", "message"), [
    ((), "no hosts; write some"),
    (("a.example", "http://b.example/"), "not a host name: 'http://b.example/'; write it without http://, as in: "),
    (("a.example", ""), "not a host name: ''; write it without http://"),
    (("a\x01.example",), "not a host name: 'a\\x01.example'; write it without http://"),
    (("--file", "utf-16.txt"), "utf-16.txt:1: not a host name: 'a\\x00b\\x00'; write one a line, without http://"),
    (("localhost", "--port", "65536"), "'65536' is no TCP port; give 1 to 65535"),
    (("localhost", "--rounds", "0"), "'0' is no number of rounds; give 1 to 1000000"),
    (("localhost", "--timeout", "-1"), "'-1' is no time to wait; give seconds, 0.001 to 3600"),
    (("--file", "hosts.txt"), "hosts.txt:3: not a host name: 'http://b.example/'; write one a line, without http://"),
    (("--file", "empty.txt"), "empty.txt: no host names in it; write one a line"),
    (("--file", "nowhere.txt"), "nowhere.txt: cannot be read (No such file or directory); give a file of host names"),
    (("--file", "fifo"), "fifo: cannot be read (it is no regular file); give a file of host names"),
    (("--file", "."), ".: cannot be read (Is a directory); give a file of host names"),
    (("--file", "latin.txt"), "latin.txt: cannot be read (it is no UTF-8 text); give a file of host names"),
    (("--file", "sparse.txt"), "sparse.txt: cannot be read (more than 1048576 bytes); give a file of host names")])
def test_bad_input(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("a.example   # a remark\n\nhttp://b.example/\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9.example\n")
    (tmp_path / "utf-16.txt").write_bytes("ab\n".encode("utf-16-le"))
    (tmp_path / "sparse.txt").touch()
    os.truncate(tmp_path / "sparse.txt", 60 * 10**9)
    os.mkfifo(tmp_path / "fifo")
    done = forked.typed(CONNIE / "conbench.py", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def unread_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(("open_output", "reason"), [
    (lambda: os.open("/dev/full", os.O_WRONLY), "No space left on device"), (unread_pipe, "Broken pipe")])
def test_lines_that_cannot_be_printed(open_output: Callable[[], int], reason: str) -> None:
    """`| head -1` and a full disk ended in a traceback."""
    output = open_output()
    try:
        done = subprocess.run([str(CONNIE / "conbench.py"), "127.0.0.1", "--rounds", "1", "--port", "9"], stdout=output,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(output)
    assert (done.returncode, done.stderr) == (1, f"stopped: {reason}\n")


WITHOUT_IPV6 = """import errno
from connie.bench import own_server
from connie.bench.command_line import run_main

def no_address(*_):
    raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

def start():
    with own_server.running_server(["::1"]):
        return 0

own_server._Server6 = no_address
run_main(start)"""


def test_no_server_of_our_own_without_ipv6() -> None:
    """`conbench.py ::1` in a container without IPv6 was a traceback of a port that is not free."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_IPV6], cwd=CONNIE.parent, capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "stopped: no server of our own: this machine has no ::1\n")


def test_the_package_alone_is_enough(tmp_path: Path) -> None:
    """Without the rest of the project, and with a Python that has none of its packages."""
    copied = tmp_path / "connie"
    subprocess.run(["cp", "-r", str(CONNIE), str(copied)], check=True)
    done = subprocess.run([sys.executable, "-I", "-S", str(copied / "conbench.py"), "localhost", "--rounds", "3"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(OWN)
