#!/usr/bin/env python3
"""Delay every packet that comes in by one interface for a whole round trip, on kernels without netem.

    iptables (mangle) --NFQUEUE--> this process: hold each packet for its delay --accept--> on its way

Run it inside the network namespace of the host whose link is to be delayed (tfo.py does). It prints `ready` when
packets are being delayed and ends on SIGTERM or Ctrl-C, taking its iptables rule with it. All packets have one delay,
or, with --delays, those from an address its own. Should it be killed, packets are dropped, not passed on undelayed: an
experiment without its delay must fail, not look fast. How late it let packets go is noted in the shared memory of
--lateness-fd (harness/system/lateness.py).

What goes out is not held. While a process holds a packet that leaves, the kernel takes it for not sent yet, and keeps
back what its connection would send next (TCP small queues, net/ipv4/tcp_output.c): requests and uploads would be late.
A packet that has come in belongs to no socket. To the host it makes no difference on which way the delay lies.
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
from harness.system.lateness import shared_numbers
from harness.system.options import DELAY_MS, Decimal, OptionParser, Whole

SOURCE, HEAD_BYTES = slice(12, 16), 20
"""Where the sender's address stands in an IPv4 header (RFC 791, section 3.1), and its length."""
ROUND_TRIP_MS = Decimal(2 * DELAY_MS.low, 2 * DELAY_MS.high, or_zero=True)


def main() -> int:
    """Delay packets until told to stop; return the exit status."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface whose packets are delayed")
    parser.add_argument("--delay-ms", type=ROUND_TRIP_MS, required=True, help="how long each packet is held, in ms")
    parser.add_argument("--delays", type=own_delays_s, default={}, metavar="ADDRESS=MS,...",
                        help="what those addresses have instead")
    parser.add_argument("--lateness-fd", type=Whole(0, 2**20),
                        help="descriptor of the memory in which to note late packets")
    arguments = parser.parse_args()
    delay_s, delays_s = arguments.delay_ms / 1000, arguments.delays
    packets = DelayQueue(None if arguments.lateness_fd is None else shared_numbers(arguments.lateness_fd))

    def hold(packet: Packet) -> None:
        """Take a packet from the kernel. Where all have one delay, its bytes are not needed."""
        packets.hold(packet, delays_s.get(packet.get_payload()[SOURCE], delay_s) if delays_s else delay_s)

    delay_packets(hold, packets, [["PREROUTING", "-i", arguments.interface]],
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
            delays_s[IPv4Address(address).packed] = ROUND_TRIP_MS(delay_ms) / 1000
        except ValueError:
            raise argparse.ArgumentTypeError(f"not ADDRESS=MS: {word[:40]!r}") from None
    return delays_s


if __name__ == "__main__":
    run_main(main)
