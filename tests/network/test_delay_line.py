"""A delay line that cannot keep up: what it loses and what it lets go late is counted, and that it ended is said."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from harness.errors import ExperimentError
from harness.network.links import Delay, delay_line_drops, delaying
from harness.network.needs import kernel_has_netem
from harness.network.nodes import running_star
from harness.network.rtt import measure_rtts
from harness.network.star import LinkSpeeds, Star
from harness.system.namespaces import inside

STOPPED_S = 0.3
AT_ONCE = 1000
SO_SNDBUFFORCE = 32
"""Of asm-generic/socket.h; Python has no name for it."""
SEND_BUFFER_BYTES = 256 << 20
"""A packet that waits in the delay line's queue still counts against the buffer of the socket that sent it."""


@contextmanager
def delay_line(delay_ms: float) -> Iterator[tuple[Star, Delay, "subprocess.Popen[str]"]]:
    """Run a star of one server with a delay line, where the kernel needs one; give the line's process, too."""
    if kernel_has_netem():
        pytest.skip("this kernel delays packets itself")
    speeds = LinkSpeeds(delay_net_ms=delay_ms)
    with running_star(["one.test"], speeds, False) as star, delaying(star, netem=False) as delay:
        assert delay.line is not None
        delay.change(speeds)
        yield star, delay, delay.line.process


@pytest.mark.root
def test_packets_it_loses_are_counted_and_all_are_lost_when_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment without its delay must fail, not look fast. The kernel reports what it cannot queue as EPERM."""
    monkeypatch.setattr("harness.network.rtt.TIMEOUT_S", 1.0)
    with delay_line(delay_ms=5) as (star, delay, line):
        assert delay_line_drops(star.user) == 0
        with inside(star.servers["one.test"].pid):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        with sender:
            sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES)
            line.send_signal(signal.SIGSTOP)
            while not delay_line_drops(star.user):
                for _ in range(AT_ONCE):
                    with suppress(OSError):
                        sender.sendto(b"x", (star.user.address, 9))
        delay.check()
        line.kill()
        line.wait()
        with pytest.raises(ExperimentError):
            measure_rtts(star, 8000, samples=1)
        with pytest.raises(ExperimentError, match="SIGKILL"):
            delay.check()


@pytest.mark.root
@pytest.mark.timing
def test_what_is_sent_in_pieces_arrives_at_once() -> None:
    """The kernel holds back what is behind packets that somebody holds on their way out. The best of 20 counts."""
    arrived_within_s = []
    with delay_line(250) as (star, _, _):
        with inside(star.servers["one.test"].pid):
            listener = socket.create_server((star.servers["one.test"].address, 0))
        with listener, inside(star.user.pid), socket.create_connection(listener.getsockname()) as sender, \
                listener.accept()[0] as receiver:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(20):
                for _ in range(8):
                    sender.send(bytes(1400))
                left, began_s = 8 * 1400 - len(receiver.recv(1)), time.monotonic()
                while left:
                    left -= len(receiver.recv(2**16))
                arrived_within_s.append(time.monotonic() - began_s)
    assert min(arrived_within_s) < 0.125


@pytest.mark.root
@pytest.mark.timing
def test_it_counts_how_late_it_was() -> None:
    """Both kinds of packets a stopped delay line makes late: those it holds, and those that nobody reads meanwhile."""
    one_way_ms = 20
    late_ms, stopped_ms = [], []
    with delay_line(one_way_ms) as (star, delay, line):
        with inside(star.servers["one.test"].pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for held, is_stopped in ((True, False), (True, True), (False, True)):
                sent_s = time.time()
                if held:
                    sender.sendto(b"on its way when the line stops", (star.user.address, 9))
                    time.sleep(0.005)
                stopped_s = time.monotonic()
                if is_stopped:
                    os.kill(line.pid, signal.SIGSTOP)
                if not held:
                    sender.sendto(b"sent while it is stopped", (star.user.address, 9))
                time.sleep(STOPPED_S)
                os.kill(line.pid, signal.SIGCONT)
                stopped_ms.append((time.monotonic() - stopped_s) * 1000)
                time.sleep(0.1)
                late_ms.append(delay.latest_ms(sent_s, time.time()) or 0.0)
    assert 0 < late_ms[0] < STOPPED_S * 1000 / 2, "undisturbed: three times what a busy machine was seen to take"
    for late, stopped in zip(late_ms[1:], stopped_ms[1:], strict=True):
        assert STOPPED_S * 1000 - 2 * one_way_ms <= late <= stopped + 2 * one_way_ms
