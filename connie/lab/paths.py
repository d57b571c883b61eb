#!/usr/bin/env python3
"""Give every address its own delay, jitter and loss, for the client whose network namespace this runs in.

    ip(6)tables (mangle) --NFQUEUE--> this process: hold each packet for its delay, or drop it --accept--> on its way

The queue is that of the harness's delay line (harness/system/delay_queue.py). Reads a JSON
file of {"seed", "interface", "paths": {address: {"one_way_ms", "jitter_ms", "path"}}}, prints `ready`, ends on SIGTERM.
Packets of one address and direction keep their order. Only TCP and DNS pass through it.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
from harness.bootstrap import use_project_python

use_project_python()

import ipaddress
import json
import random
from dataclasses import dataclass
from typing import NamedTuple

from connie.lab.scenarios import LOSE_ALL, LOSE_FIRST_SYN
from harness.errors import run_main
from harness.system.delay_queue import DelayQueue, Packet, delay_packets

HEAD_BYTES = 60                             # IPv6 header and the TCP header without options
SYN, ACK, TCP = 0x02, 0x10, 6


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
    """What happens to each packet: dropped, let go at once, or put among those `under_way` until it is due."""

    def __init__(self, paths: dict[bytes, Way], seed: int) -> None:
        self._paths = paths
        self._draw = random.Random(seed)
        self._seen: set[tuple[bytes, bytes]] = set()
        self.under_way = DelayQueue()

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
            path.last_due_s[outgoing] = self.under_way.hold(packet, path.one_way_s + jitter_s,
                                                            path.last_due_s[outgoing])

    def _is_lost(self, path: Way, head: Head) -> bool:
        if path.loss == LOSE_FIRST_SYN and head.is_first and (head.target, head.ports) not in self._seen:
            self._seen.add((head.target, head.ports))
            return True
        return path.loss == LOSE_ALL


def read_paths(settings: dict[str, dict[str, float | str]]) -> dict[bytes, Way]:
    """Return the paths of the settings file, by their packed addresses."""
    return {ipaddress.ip_address(address).packed:
            Way(float(path["one_way_ms"]) / 1000, float(path["jitter_ms"]) / 1000, str(path["path"]),
                  {True: 0.0, False: 0.0})
            for address, path in settings.items()}


def rules(interface: str) -> list[list[str]]:
    """Return iptables' words for TCP and DNS that arrive on and leave `interface`."""
    return [[chain, side, interface, "-p", protocol]
            for protocol in ("tcp", "udp") for chain, side in (("PREROUTING", "-i"), ("POSTROUTING", "-o"))]


def main() -> int:
    """Hold packets until told to stop; return the exit status."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    paths = Paths(read_paths(settings["paths"]), settings["seed"])
    has_ipv6 = any(":" in address for address in settings["paths"])
    delay_packets(paths.hold, paths.under_way, rules(settings["interface"]),
                  ["iptables", "ip6tables"] if has_ipv6 else ["iptables"], HEAD_BYTES)
    return 0


if __name__ == "__main__":
    run_main(main)
