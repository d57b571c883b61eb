"""How long packets wait for user's own link where it is slow (--bwhome, --paper): there all servers' packets queue.

It need not be slower than a server's own link: slower than all of these together is enough (LinkSpeeds.home_fills_up).

A server that seems silent while its packets wait in that queue is not late. How much the link had to carry is known:
the load's HAR says what Chrome sent, and the kernel's time stamps say what arrived.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.analysis.shared_link import alone_ms
from harness.analysis.timeline import Timeline
from harness.measure.timekeeping import TICK_MS, Quiet
from harness.system.tcp import FRAME_BYTES

CONNECTION_BYTES = 200
"""A SYN and the acknowledgements of a connection's beginning and end, with their headers."""
UNKNOWN_BYTES = 1500
"""Of a request over TLS, with its handshake."""
ACKNOWLEDGEMENTS = 1.5
"""The bytes that go up, to those of requests: an acknowledgement of 66 bytes for every second packet that comes down is
87 kbit/s at 4 Mbit/s."""


@dataclass(frozen=True)
class HomeLink:
    """User's link: its rates in Mbit/s, and what it carried during a load. Times in ms from the load's start, in order.

    `sent` has for each request when it was sent, and its bytes. `came_ms` is when packets with payload arrived, from
    any server.
    """

    down_mbit: float
    up_mbit: float
    sent: Sequence[tuple[float, float]]
    came_ms: Sequence[float]

    def with_waits(self, quiet: Sequence[Quiet]) -> list[Quiet]:
        """Return the silences with the time for which what ended each may have waited for the link.

        They stay as long as they are: the server may have thought about its answer before the link was full.
        """
        return [replace(silence, waited_ms=self._wait_ms(silence)) for silence in quiet]

    def _wait_ms(self, silence: Quiet) -> float:
        free_ms = 0.0
        for sent_ms, size_bytes in self.sent:
            if sent_ms > silence.start_ms + TICK_MS:    # a HAR's dates are in whole ms, silences are not
                break
            free_ms = max(free_ms, sent_ms) + alone_ms(round(size_bytes), self.up_mbit)
        others = sum(silence.start_ms < came_ms <= silence.end_ms for came_ms in self.came_ms)
        return max(0.0, free_ms - silence.start_ms) + others * alone_ms(FRAME_BYTES, self.down_mbit)


def sent_upwards(timeline: Timeline | None) -> list[tuple[float, float]]:
    """Return when the requests of a load were sent, in order, and how many bytes each put on the link."""
    requests = timeline.requests if timeline else ()
    return sorted((request.sent, ACKNOWLEDGEMENTS * ((request.syn_bytes or UNKNOWN_BYTES) + CONNECTION_BYTES))
                  for request in requests)
