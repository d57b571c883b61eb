#!/usr/bin/env python3
"""Be a middlebox that does not know TCP Fast Open: change or drop the SYNs that leave by one interface.

    iptables (mangle, POSTROUTING) --NFQUEUE--> this process: touch the SYN or not --accept/drop--> on its way

Run it inside the network namespace of the host whose paths are broken (tfo.py --middlebox does). It prints `ready` when
it stands, and ends on SIGTERM or Ctrl-C, taking its rule with it. How many SYNs it saw and touched is counted in the
shared memory of --counts-fd (harness/system/delay_queue.py). A SYN waits here for some 0.1 ms, with TFO and without.
"""

import sys
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.files.transport import Box
from harness.network.tcp_packet import TcpPacket
from harness.system.delay_queue import DelayQueue, delay_packets, shared_numbers
from harness.system.options import OptionParser, Whole

QUEUE_NUMBER = 2
"""1 is the delay line's, in the same namespace."""
WHOLE_PACKET_BYTES = 0xFFFF


def main() -> int:
    """Touch SYNs until told to stop; return the exit status."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interface", required=True, help="network interface by which the SYNs leave")
    parser.add_argument("--box", type=Box, choices=[*Box], required=True, help="what is done to them")
    parser.add_argument("--addresses", type=addresses, required=True, metavar="ADDRESS,...", help="to whom they go")
    parser.add_argument("--counts-fd", type=Whole(0, 2**20), required=True, help="descriptor of the counts' memory")
    arguments = parser.parse_args()
    counts, box, behind = shared_numbers(arguments.counts_fd), arguments.box, arguments.addresses

    def pass_on(packet: Any) -> None:
        """Do to a SYN what the box does, and let it go on, or not."""
        syn = TcpPacket(packet.get_payload())
        if syn.destination not in behind:
            packet.accept()
            return
        touched = is_touched(box, syn)
        counts[0] += 1
        counts[1] += touched
        if touched and box.drops:
            packet.drop()
            return
        if touched:
            packet.set_payload(syn.without_fastopen() if box is Box.STRIP_OPTION else syn.without_data())
        packet.accept()

    syns = ["POSTROUTING", "-o", arguments.interface, "-p", "tcp", "--tcp-flags", "SYN,ACK", "SYN"]
    delay_packets(pass_on, DelayQueue(), [syns], head_bytes=WHOLE_PACKET_BYTES, queue_number=QUEUE_NUMBER)
    return 0


def is_touched(box: Box, syn: TcpPacket) -> bool:
    """Tell whether the box does anything to this SYN."""
    return syn.has_fastopen if box in (Box.STRIP_OPTION, Box.DROP_OPTION) else bool(syn.data_bytes)


def addresses(text: str) -> frozenset[IPv4Address]:
    """Read addresses with commas between them. Raises ValueError."""
    return frozenset(map(IPv4Address, text.split(",")))


if __name__ == "__main__":
    run_main(main)
