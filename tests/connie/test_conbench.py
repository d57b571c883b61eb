"""connie's benchmarks as they are typed: their lines, their arithmetic, and what they say of bad input."""

import os
import re
import signal
import ssl
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connie.bench.own_server import running_server
from connie.bench.peers import IN_LOOPS, in_loop, open_peers
from connie.bench.strategies import OWN, CallTimes, fetches, format_line, run_rounds
from tests.support.connie_hosts import WAIT_S, Names, refusing, silent
from tests.support.forked import typed
from tests.support.noted import each_case
from tests.support.ran import assert_refused, ran

REQUEST = b"GET / HTTP/1.0\r\n\r\n"


@each_case("connie/lines.jsonl")
def test_the_line(case: dict[str, Any]) -> None:
    """lines.jsonl: seconds and how many calls took so long, how many failed, and what is printed of it."""
    times_s = [time_s for time_s, count in case["times_s"] for _ in range(count)]
    assert format_line("any", CallTimes(times_s, ["no"] * case["failed"])) == f"any: {case['line']}"


def test_rounds_are_fair_and_keep_errors() -> None:
    calls: list[str] = []

    def call(name: str, host: str) -> float:
        calls.append(name + host)
        if name == "bad":
            raise ConnectionRefusedError(f"no {host}")
        return 1.0

    found = run_rounds({name: partial(call, name) for name in ("good", "bad")}, ["a", "b"], rounds=20)
    assert found == {"good": CallTimes([1.0] * 20), "bad": CallTimes([], ["a: no a", "b: no b"] * 10)}
    rounds = [*zip(calls[::2], calls[1::2], strict=True)]
    for turn, host in enumerate("ab"):      # in whose rounds either strategy is first sometimes
        assert {*rounds[turn::2]} == {(f"good{host}", f"bad{host}"), (f"bad{host}", f"good{host}")}


@pytest.mark.parametrize(("arguments", "names"), [
    # Debian's /etc/hosts gives the machine's own name 127.0.1.1.
    (["127.0.0.1", "127.0.1.1", "localhost"], ["connie_connect", "cached_dns_connect", "create_connection"]),
    (["--http", "localhost"], ["ConnieHTTPConnection", "CachedDNSHTTPConnection", "HTTPConnection"])])
def test_loopback(arguments: list[str], names: list[str]) -> None:
    done = typed("-m", "connie.bench", *arguments, "--rounds", "6", status=0)
    assert re.sub(r", total [^\n]+", "", done.stdout) == "".join(f"{name}: count 6\n" for name in names)
    assert done.stdout.count(", errors: 0\n") == len(names)


def test_certificate_authorities_are_read_before_the_times_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them takes 20 ms, which are no part of a connect."""
    read: list[str] = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: read.append("authorities"))
    with refusing() as (host, port):
        calls = fetches(port, WAIT_S, secure=True)
        for call in [*calls.values()] * 2:
            with pytest.raises(ConnectionRefusedError):
                call(host)
    assert list(calls) == ["ConnieHTTPSConnection", "CachedDNSHTTPSConnection", "HTTPSConnection"]
    assert read == ["authorities"]


def test_every_strategy_waits_for_its_own_lookups(names: Names) -> None:
    """Of names that are met once, half of either caching strategy's lookups were in the other's times."""
    with running_server(["127.0.0.1"]) as port:
        names.hosts["met-once.test"] = [("127.0.0.1", port)]
        asked = []
        for measure in [*OWN.values(), *OWN.values()]:
            measure("met-once.test", port, WAIT_S)
            asked.append(len(names.asked))
    assert asked == [1, 2, 3, 3, 3, 4]


def test_every_strategy_reaches_a_server_and_tells_of_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOCACHE", str(Path.home() / ".cache" / "go-build"))     # else 20 s of compiling each time
    with running_server() as port, open_peers() as peers, refusing() as (_, closed):
        for name, measure in (OWN | peers).items():
            # No name: trio keeps the thread that looked one up for a while.
            sample = measure("127.0.0.1", port, WAIT_S, REQUEST)
            assert (sample.address, 0 <= sample.connect_s <= (sample.first_byte_s or 0)) == ("127.0.0.1", True), name
            with pytest.raises(OSError):
                measure("127.0.0.1", closed, WAIT_S, REQUEST)
    assert {*peers} >= {"asyncio", "anyio", "trio"}


@pytest.mark.parametrize("peer", IN_LOOPS)
def test_a_peer_waits_no_longer_than_its_timeout_and_ctrl_c_ends_what_it_began(peer: str) -> None:
    with silent() as (host, port):
        with pytest.raises(TimeoutError):
            in_loop(*IN_LOOPS[peer])(host, port, 0.05)

        def interrupted() -> None:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            in_loop(*IN_LOOPS[peer])(host, port, WAIT_S)

        with pytest.raises(KeyboardInterrupt):
            interrupted()


def test_a_strategy_that_never_succeeds_fails_the_run() -> None:
    with refusing() as (host, port):
        done = typed("-m", "connie.bench", host, "x" * 64 + ".test", "--rounds", "2", "--port", str(port), status=1)
    assert [": count 0, total 0.0000, per call: -" in line for line in done.stdout.splitlines()] == [True] * 3
    assert len(done.stderr.splitlines()) == 6, "each kind of failure once"


@each_case("connie/bad_input.jsonl")
def test_bad_input_is_one_line_and_status_2(case: dict[str, Any]) -> None:
    done = typed("-m", "connie.bench", *case["typed"])
    assert_refused(done)
    assert case["named"] in done.stderr


def test_a_full_disk_is_one_line() -> None:
    done = ran("sh", "-c", 'exec "$@" >/dev/full', "sh", sys.executable, "-m", "connie.bench", "127.0.0.1",
               "--rounds", "1", "--port", "9")
    assert_refused(done, 1)
    assert done.stderr.startswith("stopped: ")
