"""The transfers that packet_timing.py makes and network_equivalence.py compares."""

from harness.network.star import LinkSpeeds

SPEEDS = LinkSpeeds(bw_net_mbit=20, delay_net_ms=50)
BULK_BYTES = 1_000_000
"""Sent over one connection, alone."""
Arrivals = list[tuple[float, int]]
"""Milliseconds since connect() was called, and how many bytes had come by then."""
