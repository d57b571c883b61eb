#!/usr/bin/env python3
"""Delay every packet that comes in by one interface for a whole round trip, on kernels without netem.

    iptables (mangle) --NFQUEUE--> this process: hold each packet for its delay --accept--> on its way

Run it inside the network namespace of the host whose link is to be delayed (tfo.py does). It prints `ready` when
packets are being delayed and ends on SIGTERM or Ctrl-C, taking its iptables rule with it. Should it be killed, packets
are dropped, not passed on undelayed: an experiment without its delay must fail, not look fast.

For how long the packets of each sender are held stands in the shared memory of --shared-fd, and is looked up for each
packet: who writes another number there has changed the delay. Behind that it notes how late it let packets go
(harness/system/delay_queue.py).

What goes out is not held. While a process holds a packet that leaves, the kernel takes it for not sent yet, and keeps
back what its connection would send next (TCP small queues, net/ipv4/tcp_output.c): requests and uploads would be late.
A packet that has come in belongs to no socket. To the host it makes no difference on which way the delay lies.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.system.delay_queue import SENDERS, DelayQueue, Packet, delay_packets, place_of, shared_numbers
from harness.system.options import OptionParser, Whole

SOURCE, HEAD_BYTES = slice(12, 16), 20
"""Where the sender's address stands in an IPv4 header (RFC 791, section 3.1), and its length."""


def main() -> int:
    """Delay packets until told to stop; return the exit status."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface whose packets are delayed")
    parser.add_argument("--shared-fd", type=Whole(0, 2**20), required=True,
                        help="descriptor of the memory with the delays, in which late packets are noted")
    arguments = parser.parse_args()
    numbers = shared_numbers(arguments.shared_fd)
    packets = DelayQueue(numbers[SENDERS:])

    def hold(packet: Packet) -> None:
        """Take a packet from the kernel."""
        packets.hold(packet, numbers[place_of(packet.get_payload()[SOURCE])])

    delay_packets(hold, packets, [["PREROUTING", "-i", arguments.interface]], head_bytes=HEAD_BYTES)
    return 0


if __name__ == "__main__":
    run_main(main)
