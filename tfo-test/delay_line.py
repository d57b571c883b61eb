#!/usr/bin/env python3
"""Delay every packet of one interface, in both directions, on kernels without netem.

    iptables (mangle) --NFQUEUE--> this process: hold each packet for its delay --accept--> on its way

Run it inside the network namespace of the host whose link is to be delayed (tfo.py does). It prints `ready` when
packets are being delayed and ends on SIGTERM or Ctrl-C, taking its two iptables rules with it. Should it be killed,
packets are dropped, not passed on undelayed: an experiment without its delay must fail, not look fast. How late it let
each packet go is counted in the shared memory of --lateness-fd (harness/system/lateness.py).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.system.delay_queue import DelayQueue, Packet, delay_packets
from harness.system.lateness import LatenessCounts
from harness.system.options import DELAY_MS, OptionParser, Whole


def main() -> int:
    """Delay packets until told to stop; return the exit status."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface whose packets are delayed")
    parser.add_argument("--delay-ms", type=DELAY_MS, required=True, help="delay each way, in ms")
    parser.add_argument("--lateness-fd", type=Whole(0, 2**20),
                        help="descriptor of the memory in which to count late packets")
    arguments = parser.parse_args()
    delay_s = arguments.delay_ms / 1000
    packets = DelayQueue(None if arguments.lateness_fd is None else LatenessCounts(arguments.lateness_fd))

    def hold(packet: Packet) -> None:
        """Take a packet from the kernel. Only its verdict is ever needed, never its bytes."""
        packets.hold(packet, delay_s)

    interface = arguments.interface
    delay_packets(hold, packets, [["PREROUTING", "-i", interface], ["POSTROUTING", "-o", interface]])
    return 0


if __name__ == "__main__":
    run_main(main)
