#!/usr/bin/env python3
"""Give every address its own delay, jitter and loss, for the client whose network namespace this runs in.

    ip(6)tables (mangle) --NFQUEUE--> this process: hold each packet for its delay, or drop it --accept--> on its way

The harness's delay line (tfo-test/delay_line.py) with a delay for each address instead of one for all. Reads a JSON
file of {"seed", "interface", "paths": {address: {"one_way_ms", "jitter_ms", "path"}}}, prints `ready`, ends on SIGTERM.
Packets of one address and direction keep their order. Only TCP and DNS pass through it.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
from harness.bootstrap import use_project_python

use_project_python()

import ctypes
import gc
import heapq
import ipaddress
import json
import os
import random
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple, Protocol

from netfilterqueue import COPY_PACKET, NetfilterQueue

from connie.lab.scenarios import LOSE_ALL, LOSE_FIRST_SYN
from harness.commands import run
from harness.errors import run_main
from harness.processes import die_with_parent

QUEUE_NUMBER = 1
QUEUE_LENGTH = 100_000
SOCKET_BUFFER_BYTES = 16 << 20
HEAD_BYTES = 60                             # IPv6 header and the TCP header without options
REALTIME_PRIORITY = 50
PR_SET_TIMERSLACK = 29
SYN, ACK, TCP = 0x02, 0x10, 6


class Packet(Protocol):
    """What of netfilterqueue's packets is used."""

    def get_payload(self) -> bytes:
        """Return its first bytes."""

    def accept(self) -> None:
        """Let it go on."""

    def drop(self) -> None:
        """Lose it."""


class Head(NamedTuple):
    """What of a packet's headers decides its fate."""

    source: bytes
    target: bytes
    ports: bytes
    """Source and destination port; b"" unless TCP."""
    is_first: bool
    """A SYN without ACK."""


def parse(packet: bytes) -> Head:
    """Read an IPv4 or IPv6 packet's first 60 bytes. Extension headers are not expected: nothing here makes any."""
    if packet[0] >> 4 == 6:
        source, target, protocol, start = packet[8:24], packet[24:40], packet[6], 40
    else:
        source, target, protocol, start = packet[12:16], packet[16:20], packet[9], (packet[0] & 0x0F) * 4
    if protocol != TCP:
        return Head(source, target, b"", is_first=False)
    flags = packet[start + 13]
    return Head(source, target, packet[start:start + 4], is_first=flags & (SYN | ACK) == SYN)


@dataclass
class Way:
    """The way to one address, and when the last packet that went in each direction is due."""

    one_way_s: float
    jitter_s: float
    loss: str
    last_due_s: dict[bool, float]


class Paths:
    """Packets under way, the one due first on top."""

    def __init__(self, paths: dict[bytes, Way], seed: int) -> None:
        self._paths = paths
        self._draw = random.Random(seed)
        self._held: list[tuple[float, int, Packet]] = []
        self._seen: set[tuple[bytes, bytes]] = set()
        self._count = 0

    def hold(self, packet: Packet) -> None:
        """Take a packet from the kernel."""
        head = parse(packet.get_payload())
        outgoing = head.target in self._paths
        path = self._paths.get(head.target if outgoing else head.source)
        if path is None:
            packet.accept()
        elif outgoing and self._is_lost(path, head):
            packet.drop()
        else:
            # The mean of the jitter is that of a whole round trip: half of it each way.
            jitter_s = self._draw.expovariate(2 / path.jitter_s) if path.jitter_s else 0.0
            due_s = max(time.monotonic() + path.one_way_s + jitter_s, path.last_due_s[outgoing])
            path.last_due_s[outgoing] = due_s
            self._count += 1
            heapq.heappush(self._held, (due_s, self._count, packet))

    def _is_lost(self, path: Way, head: Head) -> bool:
        if path.loss == LOSE_FIRST_SYN and head.is_first and (head.target, head.ports) not in self._seen:
            self._seen.add((head.target, head.ports))
            return True
        return path.loss == LOSE_ALL

    def release_due(self) -> float | None:
        """Let all packets go whose time has come; return the seconds until the next one's, None when none waits."""
        while self._held:
            wait_s = self._held[0][0] - time.monotonic()
            if wait_s > 0:
                return wait_s
            heapq.heappop(self._held)[2].accept()
        return None


def read_paths(settings: dict[str, dict[str, float | str]]) -> dict[bytes, Way]:
    """Return the paths of the settings file, by their packed addresses."""
    return {ipaddress.ip_address(address).packed:
            Way(float(path["one_way_ms"]) / 1000, float(path["jitter_ms"]) / 1000, str(path["path"]),
                  {True: 0.0, False: 0.0})
            for address, path in settings.items()}


@contextmanager
def queued_packets(interface: str, programs: list[str]) -> Iterator[None]:
    """Send TCP and DNS that arrive on and leave `interface` to our queue while this lasts."""
    done: list[list[str]] = []
    try:
        for program in programs:
            for protocol in ("tcp", "udp"):
                for chain, side in (("PREROUTING", "-i"), ("POSTROUTING", "-o")):
                    rule = [chain, side, interface, "-p", protocol, "-j", "NFQUEUE", "--queue-num", str(QUEUE_NUMBER)]
                    run([program, "-w", "-t", "mangle", "-A", *rule], "sending packets to the paths")
                    done.append([program, "-w", "-t", "mangle", "-D", *rule])
        yield
    finally:
        for undo in done:
            run(undo, "taking the paths' rules back")


def be_punctual() -> None:
    """Real-time priority, exact timers, no garbage collection: lateness here is an error in every RTT."""
    gc.collect()
    gc.freeze()
    gc.disable()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)


def forward(queue: NetfilterQueue, paths: Paths) -> None:
    """Hold and release packets until interrupted."""
    descriptor = queue.get_fd()
    while True:
        # select, since epoll's timeout counts in whole milliseconds.
        ready, _, _ = select.select([descriptor], [], [], paths.release_due())
        if ready:
            queue.run(block=False)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into the exception that Ctrl-C raises."""
    raise KeyboardInterrupt


def main() -> int:
    """Hold packets until told to stop; return the exit status."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    paths = Paths(read_paths(settings["paths"]), settings["seed"])
    has_ipv6 = any(":" in address for address in settings["paths"])
    signal.signal(signal.SIGTERM, interrupt)
    die_with_parent()
    queue = NetfilterQueue()
    queue.bind(QUEUE_NUMBER, paths.hold, max_len=QUEUE_LENGTH, mode=COPY_PACKET, range=HEAD_BYTES,
               sock_len=SOCKET_BUFFER_BYTES)
    try:
        be_punctual()
        with queued_packets(settings["interface"], ["iptables", "ip6tables"] if has_ipv6 else ["iptables"]):
            print("ready", flush=True)
            forward(queue, paths)
    except KeyboardInterrupt:
        pass
    finally:
        queue.unbind()
    return 0


if __name__ == "__main__":
    run_main(main)
