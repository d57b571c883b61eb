#!/usr/bin/env python3
"""Delay every packet of one interface, in both directions, on kernels without netem.

    iptables (mangle) --NFQUEUE--> this process: hold each packet for its delay --accept--> on its way

Run it inside the network namespace of the host whose link is to be delayed (tfo.py does). It prints `ready` when
packets are being delayed and ends on SIGTERM or Ctrl-C, taking its two iptables rules with it. All packets have one
delay, or, with --delays, those from and to an address its own. Should it be killed,
packets are dropped, not passed on undelayed: an experiment without its delay must fail, not look fast. How late it let
each packet go is counted in the shared memory of --lateness-fd (harness/system/lateness.py).
"""

import argparse
import sys
from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.system.delay_queue import DelayQueue, Packet, delay_packets
from harness.system.lateness import LatenessCounts
from harness.system.options import DELAY_MS, OptionParser, Whole

SOURCE, DESTINATION, HEAD_BYTES = slice(12, 16), slice(16, 20), 20
"""Where the addresses stand in an IPv4 header (RFC 791, section 3.1), and its length."""


def main() -> int:
    """Delay packets until told to stop; return the exit status."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface whose packets are delayed")
    parser.add_argument("--delay-ms", type=DELAY_MS, required=True, help="delay each way, in ms")
    parser.add_argument("--delays", type=own_delays_s, default={}, metavar="ADDRESS=MS,...",
                        help="what those addresses have instead")
    parser.add_argument("--lateness-fd", type=Whole(0, 2**20),
                        help="descriptor of the memory in which to count late packets")
    arguments = parser.parse_args()
    delay_s, delays_s = arguments.delay_ms / 1000, arguments.delays
    packets = DelayQueue(None if arguments.lateness_fd is None else LatenessCounts(arguments.lateness_fd))

    def hold(packet: Packet) -> None:
        """Take a packet from the kernel. Only its verdict is ever needed, never its bytes."""
        packets.hold(packet, delay_s)

    def hold_for_its_own(packet: Packet) -> None:
        """Take a packet that has a delay by where it comes from, or goes to."""
        head = packet.get_payload()
        own_s = delays_s.get(head[DESTINATION])
        packets.hold(packet, delays_s.get(head[SOURCE], delay_s) if own_s is None else own_s)

    interface = arguments.interface
    delay_packets(hold_for_its_own if delays_s else hold, packets,
                  [["PREROUTING", "-i", interface], ["POSTROUTING", "-o", interface]],
                  head_bytes=HEAD_BYTES if delays_s else 0)
    return 0


def own_delays_s(text: str) -> Mapping[bytes, float]:
    """Return the delays of single addresses in s, by the address as packets bear it.

    Raises argparse.ArgumentTypeError.
    """
    delays_s = {}
    for word in text.split(","):
        address, _, delay_ms = word.partition("=")
        try:
            delays_s[IPv4Address(address).packed] = DELAY_MS(delay_ms) / 1000
        except ValueError:
            raise argparse.ArgumentTypeError(f"not ADDRESS=MS: {word[:40]!r}") from None
    return delays_s


if __name__ == "__main__":
    run_main(main)
