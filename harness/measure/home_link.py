"""How long packets wait for user's own link where it is slow (--bwhome, --paper): there all servers' packets queue.

It need not be slower than a server's own link: slower than all of these together is enough (LinkSpeeds.home_fills_up).

A server that seems silent while its packets wait in that queue is not late. How much the link had to carry is known:
the load's HAR says what Chrome sent, and the kernel's time stamps say what arrived. A link is never idle while a packet
waits for it: so what ended a silence can have waited only since the packets before it came one right after the other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness.analysis.shared_link import alone_ms
from harness.analysis.timeline import Timeline
from harness.measure.timekeeping import TICK_MS, Quiet
from harness.system.tcp import FRAME_BYTES

CONNECTION_BYTES = 200
"""A SYN and the acknowledgements of a connection's beginning and end, with their headers."""
UNKNOWN_BYTES = 1500
"""Of a request over TLS, with its handshake, besides its body."""
ACKNOWLEDGEMENTS = 1.5
"""The bytes that go up, to those of requests: an acknowledgement of 66 bytes for every second packet that comes down is
87 kbit/s at 4 Mbit/s."""
FULL_RATIO = 0.9
"""A link that carried packets for so much of a time may have been full all the while: its rate is right to 5%
(harness.network.rates)."""


@dataclass(frozen=True)
class HomeLink:
    """User's link: its rates in Mbit/s, and what it carried during a load. Times in ms from the load's start, in order.

    `sent` has for each request when it was sent, and its bytes. `came_ms` is when packets with payload had passed the
    link, from any server. `held_ms`: for so long after that the delay line held those of each server (Delay.held_ms).
    """

    down_mbit: float
    up_mbit: float
    sent: Sequence[tuple[float, float]]
    came_ms: Sequence[float]
    held_ms: Mapping[str, float] = field(default_factory=dict)

    def with_waits(self, quiet: Sequence[Quiet]) -> list[Quiet]:
        """Return the silences with the time for which what ended each may have waited for the link.

        They stay as long as they are: the server may have thought about its answer before the link was full.
        """
        return [replace(silence, waited_ms=self._up_ms(silence) + self._down_ms(silence)) for silence in quiet]

    @cached_property
    def _free_ms(self) -> list[float]:
        """When the link up was free again after each request, and before the first."""
        free_ms = [0.0]
        for sent_ms, size_bytes in self.sent:
            free_ms.append(max(free_ms[-1], sent_ms) + alone_ms(round(size_bytes), self.up_mbit))
        return free_ms

    def _up_ms(self, silence: Quiet) -> float:
        until_ms = silence.start_ms + TICK_MS       # a HAR's dates are in whole ms, silences are not
        return max(0.0, self._free_ms[bisect_right(self.sent, (until_ms, float("inf")))] - silence.start_ms)

    def _down_ms(self, silence: Quiet) -> float:
        """Return how long the link down had been full when the silence ended, of the time that it lasted."""
        end_ms, frame_ms = silence.end_ms - self.held_ms.get(silence.server, 0.0), alone_ms(FRAME_BYTES, self.down_mbit)
        first, last = bisect_left(self.came_ms, silence.start_ms), bisect_right(self.came_ms, end_ms + TICK_MS)
        return max((busy_ms for number, came_ms in enumerate(reversed(self.came_ms[first:last]), start=1)
                    if (busy_ms := number * frame_ms) >= FULL_RATIO * (end_ms - came_ms + frame_ms)), default=0.0)


def sent_upwards(timeline: Timeline | None) -> list[tuple[float, float]]:
    """Return when the requests of a load were sent, in order, and how many bytes each put on the link."""
    requests = timeline.requests if timeline else ()
    return sorted((request.sent, ACKNOWLEDGEMENTS * (
        (request.syn_bytes or UNKNOWN_BYTES + request.posted_bytes) + CONNECTION_BYTES)) for request in requests)
