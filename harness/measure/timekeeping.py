"""How well time was kept during one load: what is made of all that was noted around it.

A page load time is true only if no packet, no server and no process of Chrome had to wait for the machine. Nothing can
promise that: a laptop suspends, a virtual machine's host is busy, another program takes the processor. So each load's
record has the proof, measured during the load, in the same way with netem and with the delay line:

    late answers    how much longer a server was silent than a round trip and its own time (harness.netlog.silences)
                    while nothing from it arrived (harness.network.arrivals), and whether the load event waited for that
                    (harness.analysis.critical_path)
    delay line      how late it released packets, as it counted itself
    stopped         processes of Chrome that were stopped by a signal (harness.system.ticker), which no page does
    machine         steal, stalls (PSI), suspends, the largest gap of a clock that ticked beside the load, and how long
                    the page's own thread waited for a processor

All of this is measured from the navigation to the load event: what happens later does not change the page load time.
The rules that judge it are in harness.measure.rules.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import urlsplit

from harness.analysis.critical_path import Step
from harness.analysis.shared_link import alone_ms
from harness.files.layout import EACH_ITS_OWN, Layout
from harness.files.load_parts import LateAnswer
from harness.files.server_log import ServerRequest
from harness.measure.rule import Limit
from harness.netlog.silences import Silence
from harness.system.tcp import FRAME_BYTES

LATE = Limit(ms=3.0, rtt_ratio=0.10, plt_ratio=0.02, most_ms=50.0)
"""By how much an answer may be late that the load event waited for: docs/method.md tells how often undisturbed
loads are."""
OWN_MS = 50.0
"""What a server may take for an answer that it has ready: after more it stood still, between reading a request and
answering it. Of 2124 answers of a run of the paper's pages at 100 ms three took longer than 12 ms, one of them 98."""
ASK_ONLY = ("GET", "HEAD", "OPTIONS")
"""Methods of requests without a body."""
TICK_MS = 1.0
"""The net-log's clock counts whole milliseconds."""
CLOCKS_MS = 2.0
"""How much earlier Chrome may seem to have read a packet than the kernel stamped it: a tick of its log, and as much for
the two clocks."""
WAITS = frozenset(("connect", "tls", "wait", "receive"))
"""Steps of a critical path in which the page waits for the network."""


@dataclass(frozen=True)
class Answered:
    """When a server began an answer, in ms from the load's start, and its own time for it."""

    server: str
    begun_ms: float
    own_ms: float


def late_answers(quiet: Iterable[Silence], answered: Sequence[Answered], allowed_ms: Mapping[str, float],
                 path: Sequence[Step], layout: Layout = EACH_ITS_OWN) -> list[LateAnswer]:
    """Return the silences that were too long, and by how much; the longest delay first.

    A silence may last for its server's `allowed_ms` (see `silence_ms`) and, if an answer began in it, for the time that
    the server itself took for that answer. `path` is the load's critical path, `layout` says which server each host is
    on.
    """
    found = []
    for silence in quiet:
        late_ms = silence.end_ms - silence.start_ms - allowed_ms[silence.server]
        if late_ms > 0:     # few are: who answered need not be looked for in the others
            late_ms -= max((answer.own_ms for answer in answered if answer.server == silence.server
                            and silence.start_ms <= answer.begun_ms <= silence.end_ms), default=0.0)
            found.append((silence.server, silence.start_ms, late_ms, silence.end_ms - late_ms))
    return _late(found, path, layout)


def _late(found: Iterable[tuple[str, float, float, float]], path: Sequence[Step],
          layout: Layout = EACH_ITS_OWN) -> list[LateAnswer]:
    """Return the late ones of what was `found`, the latest first; each has a server, a start, how late it was (ms), and
    since when.
    """
    late = [LateAnswer(server, start_ms, late_ms, any(
        step.kind in WAITS and layout.server_of(urlsplit(step.url).hostname or "") == server
        and step.start_ms < since_ms + late_ms and step.end_ms > since_ms for step in path))
        for server, start_ms, late_ms, since_ms in found if late_ms > 0]
    return sorted(late, key=lambda answer: -answer.late_ms)


def own_time_ms(request: ServerRequest, *, thinks: bool) -> float:
    """Return how much of a server's own time for an answer makes the answer not late.

    All of it where the server `thinks` (tfo.py --think), and of a request with a body, which still comes meanwhile.
    """
    own_ms = request.own_ms or 0.0
    return own_ms if thinks or request.method not in ASK_ONLY else min(own_ms, OWN_MS)


def held_too_long(requests: Iterable[ServerRequest], start_s: float, plt_ms: float,
                  path: Sequence[Step]) -> list[LateAnswer]:
    """Return by how much servers that hold answers back (harness.replay.held) sent them too late, the latest first.

    In the logs of such servers the server's own time is this delay: an answer is due at its request's `time_s` (in s
    since the epoch, as the load's `start_s`). Answers that are due after the load event at `plt_ms` are left out.
    """
    due_ms = [((request.time_s - start_s) * 1000, request) for request in requests]
    return _late([(request.host, at_ms, request.own_ms or 0.0, at_ms) for at_ms, request in due_ms if at_ms <= plt_ms],
                 path)


def nothing_came(silence: Silence, came_ms: Sequence[float], plt_ms: float) -> list[Silence]:
    """Return the parts of a silence, as Chrome saw it, in which no packet from the server arrived either.

    `came_ms` are the arrivals of what could end the silence, in order, in ms from the load's start. A packet that
    Chrome reads long after its arrival waited for Chrome itself, which has to share the processors: that is no fault of
    the network. A silence that lasts until the load event (at `plt_ms`) may not have ended then.
    """
    inside = came_ms[bisect_right(came_ms, silence.start_ms):bisect_left(came_ms, silence.end_ms + CLOCKS_MS)]
    if not inside and silence.end_ms >= plt_ms - TICK_MS:
        return [silence]
    points_ms = [silence.start_ms, *inside]
    return [replace(silence, start_ms=earlier, end_ms=later) for earlier, later in pairwise(points_ms)]


def silence_ms(rtt_ms: float, bw_mbit: float) -> float:
    """Return how long a server may be silent: for a round trip, and while a full packet crosses the link each way."""
    return rtt_ms + 2 * alone_ms(FRAME_BYTES, bw_mbit)


def is_too_late(answer: LateAnswer, rtt_ms: float, plt_ms: float) -> bool:
    """Tell whether the page waited for an answer that was later than it may be in a load of `plt_ms` at `rtt_ms`.

    If each server has an RTT of its own (tfo.py --rtt), it is judged by its server's. Late answers that the page did
    not wait for do not count: when it asks dozens of servers at once, they wait for each other, and it for none.
    """
    return answer.critical and answer.late_ms > LATE.of(rtt_ms if answer.rtt_ms is None else answer.rtt_ms, plt_ms)


def most_telling(late: Iterable[LateAnswer], rtt_ms: float, plt_ms: float, most: int) -> list[LateAnswer]:
    """Return at most so many late answers, the latest first: those that break the rule, then the critical ones.

    When much comes late at once, what the page waited for is seldom the latest of it.
    """
    told = sorted(late, key=lambda answer: (not is_too_late(answer, rtt_ms, plt_ms), not answer.critical,
                                            -answer.late_ms))
    return sorted(told[:most], key=lambda answer: -answer.late_ms)
