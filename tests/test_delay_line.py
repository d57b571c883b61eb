"""A delay line that cannot keep up: the packets it loses are counted, and the load they belong to is not valid."""

import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from harness.links import delay_line_drops, delayed_links, kernel_has_netem
from harness.netns import inside
from harness.processes import descendants
from harness.star import LinkSpeeds, running_star

LIMIT_S = 10.0
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
    with running_star(["one.test"], speeds, False) as star, delayed_links(star, speeds, False):
        [pid] = [pid for pid in descendants(os.getpid())
                 if b"tfo-test/delay_line.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
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
