"""Give every address its own delay, jitter and loss, for the client whose network namespace this runs in.

    ip(6)tables (mangle) --NFQUEUE--> this process: hold each packet for its delay, or drop it --accept--> on its way

Argument: JSON of a Task. The queue is that of the harness's delay line (harness/system/delay_queue.py). Prints `ready`,
ends on SIGTERM. Packets of one address keep their order. Only TCP and DNS pass through it, and only what comes in, held
for the whole round trip: tfo-test/delay_line.py says why.
"""

import ipaddress
import random
import sys
from collections import defaultdict

import msgspec

from connie.lab.task import DNS_ADDRESS, PROFILES, Task
from harness.errors import run_main
from harness.system.delay_queue import DelayQueue, Packet, delay_packets

HEAD_BYTES = 40                             # an IPv6 header
Path = tuple[float, float, bool]
"""RTT in ms, jitter in ms, whether packets are lost."""


class Paths:
    """What happens to each packet: dropped, let go at once, or put among those `under_way` until it is due."""

    def __init__(self, paths: dict[str, Path], seed: int) -> None:
        self._paths = {ipaddress.ip_address(address).packed: path for address, path in paths.items()}
        self._draw = random.Random(seed)
        self._last_due_s: defaultdict[bytes, float] = defaultdict(float)
        self.under_way = DelayQueue()

    def hold(self, packet: Packet) -> None:
        """Take a packet from the kernel."""
        head = packet.get_payload()
        source = head[8:24] if head[0] >> 4 == 6 else head[12:16]
        rtt_ms, jitter_ms, is_lost = self._paths.get(source, (0.0, 0.0, False))
        if is_lost:
            packet.drop()
            return
        # The mean of the jitter is that of a whole round trip: two ways, each with half of it.
        late_ms = sum(self._draw.expovariate(2 / jitter_ms) for _ in range(2)) if jitter_ms else 0.0
        self._last_due_s[source] = self.under_way.hold(packet, (rtt_ms + late_ms) / 1000, self._last_due_s[source])


def main() -> int:
    """Hold packets until told to stop; return the exit status."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    profile = PROFILES[task.profile]
    paths = Paths({DNS_ADDRESS: (profile.dns_rtt_ms, 0.0, False), **{
        point.address: (point.rtt_ms, profile.jitter_ms, point.is_lost) for point in task.endpoints}}, task.seed)
    rules = [["PREROUTING", "-i", task.interface, "-p", protocol] for protocol in ("tcp", "udp")]
    delay_packets(paths.hold, paths.under_way, rules, ["iptables", "ip6tables"], head_bytes=HEAD_BYTES)
    return 0


if __name__ == "__main__":
    run_main(main)
