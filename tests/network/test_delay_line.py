"""A delay line that cannot keep up: what it loses and what it lets go late is counted, and that it ended is said."""

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from harness.errors import ExperimentError
from harness.network.links import delay_line_drops, delayed_links, kernel_has_netem, read_lateness
from harness.network.star import LinkSpeeds, running_star
from harness.system.netns import inside

LIMIT_S = 10.0
STOPPED_S = 0.3
AT_ONCE = 1000
SO_SNDBUFFORCE = 32
"""Of asm-generic/socket.h; Python has no name for it."""
SEND_BUFFER_BYTES = 256 << 20
"""A packet that waits in the delay line's queue still counts against the buffer of the socket that sent it."""


@pytest.mark.root
@pytest.mark.timeout(60)
def test_packets_it_loses_are_counted() -> None:
    if kernel_has_netem():
        pytest.skip("this kernel delays packets itself")
    speeds = LinkSpeeds(delay_net_ms=5)
    with running_star(["one.test"], speeds, False) as star, delayed_links(star, speeds, False) as delay:
        assert delay.line is not None
        pid = delay.line.process.pid
        assert delay_line_drops(star.user) == 0
        with inside(star.user.pid):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES)
        deadline = time.monotonic() + LIMIT_S
        os.kill(pid, signal.SIGSTOP)
        try:
            while not delay_line_drops(star.user) and time.monotonic() < deadline:
                send(sender, star.servers["one.test"].address)
        finally:
            os.kill(pid, signal.SIGCONT)
            sender.close()
        assert delay_line_drops(star.user) > 0


def send(sender: socket.socket, address: str) -> None:
    """Send packets, whether they arrive or not: one that the kernel could not queue is reported as EPERM."""
    for _ in range(AT_ONCE):
        with suppress(OSError):
            sender.sendto(b"x", (address, 9))


@pytest.mark.root
@pytest.mark.timeout(60)
def test_it_counts_how_late_it_was() -> None:
    """Both kinds of packets a stopped delay line makes late: those it holds, and those that nobody reads meanwhile."""
    if kernel_has_netem():
        pytest.skip("this kernel delays packets itself")
    speeds = LinkSpeeds(delay_net_ms=20)
    with running_star(["one.test"], speeds, False) as star, delayed_links(star, speeds, False) as delay:
        assert delay.line is not None
        address = star.servers["one.test"].address
        with inside(star.user.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            mark = delay.mark()
            sender.sendto(b"undisturbed", (address, 9))
            time.sleep(0.1)
            undisturbed = read_lateness(delay, mark)
            mark = delay.mark()
            sender.sendto(b"held while it is stopped", (address, 9))
            time.sleep(0.005)
            stopped(delay.line.process.pid, STOPPED_S)
            time.sleep(0.1)
            held = read_lateness(delay, mark)
            mark = delay.mark()
            stopped(delay.line.process.pid, STOPPED_S, lambda: sender.sendto(b"sent while it is stopped", (address, 9)))
            time.sleep(0.1)
            unread = read_lateness(delay, mark)
    assert undisturbed is not None
    assert held is not None
    assert unread is not None
    # A packet to a closed port and the answer to it (ICMP): two passes. The kernel may have something to say, too.
    assert min(undisturbed.packets, held.packets, unread.packets) >= 2
    assert undisturbed.largest_ms < STOPPED_S * 1000 / 2, "three times what a busy machine was seen to take"
    bounds_ms = (STOPPED_S * 1000 - speeds.one_way_ms, STOPPED_S * 1000 + 2 * speeds.one_way_ms)
    assert bounds_ms[0] <= held.largest_ms <= bounds_ms[1]
    assert bounds_ms[0] <= unread.largest_ms <= bounds_ms[1]


def stopped(pid: int, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Stop a process for a while and do something meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        meanwhile()
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.root
@pytest.mark.timeout(60)
def test_that_it_was_killed_is_said() -> None:
    if kernel_has_netem():
        pytest.skip("this kernel delays packets itself")
    speeds = LinkSpeeds(delay_net_ms=5)
    with running_star(["one.test"], speeds, False) as star, delayed_links(star, speeds, False) as delay:
        delay.check()
        assert delay.line is not None
        delay.line.process.kill()
        delay.line.process.wait()
        with pytest.raises(ExperimentError, match=r"^the delay line was killed by SIGKILL"):
            delay.check()
