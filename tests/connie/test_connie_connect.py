"""connie_connect and cached_dns_connect over loopback, beside socket.create_connection."""

import errno
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import pytest

import connie
from connie import ConnectError, cached_dns_connect, connie_connect
from tests.support.connie_hosts import (
    WAIT_S,
    Names,
    accept_all,
    assert_closed,
    listening,
    look_up,
    names,
    refusing,
    same_descriptors,
    silent,
)

__all__ = ["names"]


def test_the_winner_talks_to_its_server_and_has_the_callers_timeout(names: Names) -> None:
    with same_descriptors(), listening() as server:
        names.hosts["one.test"] = [server.getsockname()]
        for timeout in (None, 7.5):
            with connie_connect("one.test", 80, timeout) as sock, server.accept()[0] as peer:
                assert sock.gettimeout() == timeout
                assert sock.getpeername() == server.getsockname()
                peer.sendall(b"hello")
                assert sock.recv(9) == b"hello"


@pytest.mark.parametrize("stagger", [0.0, 0.02])
def test_dead_and_refusing_addresses_do_not_matter(names: Names, stagger: float) -> None:
    with same_descriptors(), ExitStack() as stack:
        alive = stack.enter_context(listening("127.0.0.9"))
        names.hosts["half-dead.test"] = [stack.enter_context(refusing()), stack.enter_context(silent("127.0.0.2")),
                                         stack.enter_context(refusing("127.0.0.3")), alive.getsockname()]
        with connie_connect("half-dead.test", 80, WAIT_S, stagger=stagger) as sock:
            assert sock.getpeername() == alive.getsockname()


def test_losers_are_closed(names: Names) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        with same_descriptors(), connie_connect("two.test", 80) as sock:
            assert_closed(second if sock.getpeername() == first.getsockname() else first)


def test_a_stagger_spares_the_addresses_behind_a_live_one(names: Names) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        with connie_connect("two.test", 80, stagger=WAIT_S) as sock:
            assert sock.getpeername() == first.getsockname()
        second.setblocking(False)
        with pytest.raises(BlockingIOError):
            second.accept()


def test_a_stagger_is_kept_while_nothing_fails_and_ends_with_a_failure(names: Names) -> None:
    with silent() as dead, refusing() as closed, listening() as server:
        names.hosts["slow.test"] = [dead, server.getsockname()]
        begin = time.monotonic()
        connie_connect("slow.test", 80, stagger=0.1).close()
        assert time.monotonic() - begin >= 0.1
        names.hosts["quick.test"] = [closed, server.getsockname()]
        begin = time.monotonic()
        connie_connect("quick.test", 80, stagger=WAIT_S).close()
        assert time.monotonic() - begin < WAIT_S


def test_at_most_so_many_at_once(names: Names) -> None:
    with silent() as dead, refusing() as closed, listening() as server:
        names.hosts["blocked.test"] = [dead, server.getsockname()]
        look_up("blocked.test")
        with same_descriptors(), pytest.raises(TimeoutError) as caught:
            connie_connect("blocked.test", 80, 0.1, max_attempts=1)
        assert isinstance(caught.value, ConnectError)
        assert [attempt.errno for attempt in caught.value.attempts] == [errno.ETIMEDOUT, errno.ETIMEDOUT]
        names.hosts["free.test"] = [closed, server.getsockname()]
        connie_connect("free.test", 80, max_attempts=1).close()
        connie_connect("blocked.test", 80, max_attempts=2).close()


def test_the_preferred_family_goes_first(names: Names) -> None:
    if not _has_ipv6():
        pytest.skip("no IPv6 on loopback here")
    with listening() as server, socket.create_server(("::1", 0), family=socket.AF_INET6) as server6:
        names.hosts["dual.test"] = [server.getsockname(), server6.getsockname()]
        for prefer, family in ((None, socket.AF_INET), (socket.AF_INET6, socket.AF_INET6)):
            with connie_connect("dual.test", 80, stagger=WAIT_S, prefer=prefer) as sock:
                assert sock.family == family


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.timing
def test_timeouts_are_honoured_to_10_ms(names: Names) -> None:
    """Never early, and 10 ms later than a sleep as long; the least of 9, as others may have waited for a CPU."""
    late_ms, sleeps_late_ms = [], []
    with silent() as dead, silent("127.0.0.2") as dead2, same_descriptors():
        names.hosts["dead.test"] = [dead, dead2]
        for _ in range(9):
            begin = time.monotonic()
            with pytest.raises(TimeoutError):
                connie_connect("dead.test", 80, 0.05, stagger=0.03)
            late_ms.append(1000 * (time.monotonic() - begin - 0.05))
            begin = time.monotonic()
            time.sleep(0.05)
            sleeps_late_ms.append(1000 * (time.monotonic() - begin - 0.05))
    assert 0 <= min(late_ms) <= 10 + min(sleeps_late_ms), (late_ms, sleeps_late_ms)


def test_a_name_server_that_does_not_answer_is_part_of_the_timeout(names: Names) -> None:
    answered = threading.Event()
    names.hosts["slow.test"] = [("127.0.0.1", 1)]
    names.before = lambda: answered.wait(WAIT_S)
    try:
        for connect in (connie_connect, cached_dns_connect):
            begin = time.monotonic()
            with pytest.raises(TimeoutError, match=r"slow\.test"):
                connect("slow.test", 80, 0.05)
            assert 0.05 <= time.monotonic() - begin < WAIT_S
    finally:
        answered.set()


def test_a_source_address_with_and_without_a_port(names: Names) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second, refusing() as free:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        with connie_connect("two.test", 80, source_addr=("127.0.0.5", 0)) as sock:
            assert sock.getsockname()[0] == "127.0.0.5"
        # A port free at 127.0.0.5, because its number is taken at 127.0.0.1. Both sockets have to share it.
        with connie_connect("two.test", 80, source_addr=("127.0.0.5", free[1])) as sock:
            assert sock.getsockname() == ("127.0.0.5", free[1])


def test_socket_options_are_set_before_the_handshake(names: Names) -> None:
    with listening() as server:
        option = (socket.IPPROTO_TCP, socket.TCP_MAXSEG, 600)       # has no effect on an established connection
        with connie_connect(*server.getsockname(), socket_options=[option]) as sock:
            assert 0 < sock.getsockopt(*option[:2]) <= 600


class _InterruptError(Exception):
    pass


def test_an_interrupt_leaves_no_socket(names: Names) -> None:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise _InterruptError

    def interrupted() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        connie_connect("dead.test", 80)

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with silent() as dead, silent("127.0.0.2") as dead2, same_descriptors():
            names.hosts["dead.test"] = [dead, dead2]
            with pytest.raises(_InterruptError):
                interrupted()
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_a_changed_answer_is_found_when_the_old_addresses_are_dead(names: Names) -> None:
    with listening() as old, listening() as new:
        names.hosts["moving.test"] = [old.getsockname()]
        connie_connect("moving.test", 80).close()
        names.hosts["moving.test"] = [new.getsockname()]
        connie_connect("moving.test", 80).close()
        assert names.asked == ["moving.test"]                   # the cached answer was good enough
        old.shutdown(socket.SHUT_RDWR)                          # refuses from now on, and nobody else gets its port
        with connie_connect("moving.test", 80) as sock:
            assert sock.getpeername() == new.getsockname()
        new.shutdown(socket.SHUT_RDWR)
        with pytest.raises(ConnectionRefusedError):
            connie_connect("moving.test", 80)
        asked = len(names.asked)
        with pytest.raises(ConnectionRefusedError):             # a fresh answer is believed
            connie_connect("moving.test", 80)
        assert len(names.asked) == asked + 1


def test_cached_dns_connect_draws_an_address(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        monkeypatch.setattr(random, "choice", random.Random(1).choice)
        peers = set()
        for _ in range(20):
            with cached_dns_connect("two.test", 80, 5) as sock:
                peers.add(sock.getpeername())
                assert sock.gettimeout() == 5
        assert peers == {first.getsockname(), second.getsockname()}
        assert names.asked == ["two.test"]


def test_cached_dns_connect_waits_no_longer_than_told(names: Names) -> None:
    with silent() as dead, same_descriptors():
        names.hosts["dead.test"] = [dead]
        with pytest.raises(TimeoutError):
            cached_dns_connect("dead.test", 80, 0.05)


def test_100_threads_connect_100_times_each(names: Names) -> None:
    """10,000 races to three addresses of which one refuses: no error, and no descriptor more than before."""
    errors: list[BaseException] = []

    def connect() -> None:
        try:
            for _ in range(100):
                connie_connect("busy.test", 80).close()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the main thread reports it
            errors.append(error)

    with same_descriptors(), ExitStack() as stack:
        servers = [stack.enter_context(listening(f"127.0.0.{n}", backlog=4096)) for n in (2, 3)]
        names.hosts["busy.test"] = [stack.enter_context(refusing()), *(server.getsockname() for server in servers)]
        accepting = [accept_all(server) for server in servers]
        threads = [threading.Thread(target=connect) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for server in servers:
            server.shutdown(socket.SHUT_RDWR)
        for thread in accepting:
            thread.join()
    assert errors == []
    assert names.asked == ["busy.test"]


def test_the_package_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    shutil.copytree(Path(connie.__file__).parent, tmp_path / "connie")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import connie.aio, connie.http; print(connie.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "connie" / "__init__.py")
