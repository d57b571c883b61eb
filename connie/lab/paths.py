"""Give every address its own delay, jitter and loss, for the client whose network namespace this runs in.

    ip(6)tables (mangle) --NFQUEUE--> this process: hold each packet for its delay, or drop it --accept--> on its way

Argument: JSON of {"seed", "interface", "paths": {address: [one-way delay in ms, jitter in ms, is_lost]}}.
The queue is that of the harness's delay line (harness/system/delay_queue.py). Prints `ready`, ends on SIGTERM. Packets
of one address and direction keep their order. Only TCP and DNS pass through it.
"""

import ipaddress
import json
import random
import sys
from collections import defaultdict

from harness.errors import run_main
from harness.system.delay_queue import DelayQueue, Packet, delay_packets

HEAD_BYTES = 40                             # an IPv6 header
Way = tuple[float, float, bool]


def ends_of(packet: bytes) -> tuple[bytes, bytes]:
    """Return source and target of an IPv4 or IPv6 packet."""
    first, size = (8, 16) if packet[0] >> 4 == 6 else (12, 4)
    return packet[first:first + size], packet[first + size:first + 2 * size]


class Paths:
    """What happens to each packet: dropped, let go at once, or put among those `under_way` until it is due."""

    def __init__(self, paths: dict[str, Way], seed: int) -> None:
        self._paths = {ipaddress.ip_address(address).packed: path for address, path in paths.items()}
        self._draw = random.Random(seed)
        self._last_due_s: defaultdict[tuple[bytes, bool], float] = defaultdict(float)
        self.under_way = DelayQueue()

    def hold(self, packet: Packet) -> None:
        """Take a packet from the kernel."""
        source, target = ends_of(packet.get_payload())
        outgoing = target in self._paths
        there = target if outgoing else source
        if there not in self._paths:
            packet.accept()
            return
        one_way_ms, jitter_ms, is_lost = self._paths[there]
        if outgoing and is_lost:
            packet.drop()
            return
        # The mean of the jitter is that of a whole round trip: half of it each way.
        jitter_ms = self._draw.expovariate(2 / jitter_ms) if jitter_ms else 0.0
        key = there, outgoing
        self._last_due_s[key] = self.under_way.hold(packet, (one_way_ms + jitter_ms) / 1000, self._last_due_s[key])


def main() -> int:
    """Hold packets until told to stop; return the exit status."""
    settings = json.loads(sys.argv[1])
    paths = Paths(settings["paths"], settings["seed"])
    rules = [[chain, side, settings["interface"], "-p", protocol] for protocol in ("tcp", "udp")
             for chain, side in (("PREROUTING", "-i"), ("POSTROUTING", "-o"))]
    delay_packets(paths.hold, paths.under_way, rules, ["iptables", "ip6tables"],
                  head_bytes=HEAD_BYTES)
    return 0


if __name__ == "__main__":
    run_main(main)
