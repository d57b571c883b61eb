#!/usr/bin/env python3
"""Delay every packet of one interface, in both directions, on kernels without netem.

    iptables (mangle) --NFQUEUE--> this process: hold each packet for its delay --accept--> on its way

Run it inside the network namespace of the host whose link is to be delayed (tfo.py does). It prints `ready` when
packets are being delayed and ends on SIGTERM or Ctrl-C, taking its two iptables rules with it. Should it be killed,
packets are dropped, not passed on undelayed: an experiment without its delay must fail, not look fast.
"""

import argparse
import ctypes
import gc
import os
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from netfilterqueue import COPY_META, NetfilterQueue, Packet

from harness.commands import run
from harness.errors import ExperimentError, run_main
from harness.processes import die_with_parent

QUEUE_NUMBER = 1
QUEUE_LENGTH = 100_000
SOCKET_BUFFER_BYTES = 16 << 20
REALTIME_PRIORITY = 50
HIGHEST_PRIORITY = -20
PR_SET_TIMERSLACK = 29


class DelayLine:
    """Packets in the order they came, each with the time at which it may go on (one delay for all: a FIFO)."""

    def __init__(self, delay_ms: float) -> None:
        """Delay each packet by `delay_ms` milliseconds."""
        self._delay_s = delay_ms / 1000
        self._held: deque[tuple[float, Packet]] = deque()

    def hold(self, packet: Packet) -> None:
        """Take a packet from the kernel. Only its verdict is ever needed, never its bytes."""
        self._held.append((time.monotonic() + self._delay_s, packet))

    def release_due(self) -> float | None:
        """Let all packets go whose time has come; return the seconds until the next one's, None when none waits."""
        held = self._held
        while held:
            wait_s = held[0][0] - time.monotonic()
            if wait_s > 0:
                return wait_s
            held.popleft()[1].accept()
        return None


@contextmanager
def queued_packets(interface: str) -> Iterator[None]:
    """Send the packets that arrive on and leave `interface` to our queue while this lasts."""
    rules = [["PREROUTING", "-i", interface], ["POSTROUTING", "-o", interface]]
    done: list[list[str]] = []
    try:
        for rule in rules:
            target = [*rule, "-j", "NFQUEUE", "--queue-num", str(QUEUE_NUMBER)]
            run(["iptables", "-w", "-t", "mangle", "-A", *target], "sending packets to the delay line")
            done.append(target)
        yield
    finally:
        for target in done:
            run(["iptables", "-w", "-t", "mangle", "-D", *target], "taking the delay line's rule back")


def be_punctual() -> None:
    """Real-time priority, exact timers, no garbage collection: lateness here is an error in every RTT.

    Where the first is refused, the highest ordinary one (tfo.py records that). Raises ExperimentError without either.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:    # no CAP_SYS_NICE; or RT_GROUP_SCHED, and a cgroup without cpu.rt_runtime_us (sched(7))
        try:
            os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)
        except PermissionError:
            raise ExperimentError("no priority over other programs here, and without it packets would be late; "
                                  "give the container --privileged: docs/hosts.md") from None
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)


def forward(queue: NetfilterQueue, line: DelayLine) -> None:
    """Hold and release packets until interrupted."""
    descriptor = queue.get_fd()
    while True:
        # select, since epoll's timeout counts in whole milliseconds.
        ready, _, _ = select.select([descriptor], [], [], line.release_due())
        if ready:
            queue.run(block=False)


def main() -> int:
    """Delay packets until told to stop; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface whose packets are delayed")
    parser.add_argument("--delay-ms", type=float, required=True, help="delay each way, in ms")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    die_with_parent()
    line = DelayLine(arguments.delay_ms)
    queue = NetfilterQueue()
    queue.bind(QUEUE_NUMBER, line.hold, max_len=QUEUE_LENGTH, mode=COPY_META, range=0, sock_len=SOCKET_BUFFER_BYTES)
    try:
        be_punctual()
        with queued_packets(arguments.interface):
            print("ready", flush=True)
            forward(queue, line)
    except KeyboardInterrupt:
        pass
    finally:
        queue.unbind()
    return 0


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into the exception that Ctrl-C raises."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    run_main(main)
