"""How well time was kept during one load: what is collected around it, and the rules that judge it.

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
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import urlsplit

from harness.analysis.critical_path import Step
from harness.analysis.shared_link import alone_ms
from harness.files.layout import EACH_ITS_OWN, Layout
from harness.files.load_parts import LateAnswer, Timekeeping
from harness.files.server_log import ServerRequest
from harness.measure.reason import Reason, accident
from harness.system.tcp import FRAME_BYTES

LATE_RATIO = 0.10
LATE_MS = 3.0
LATE_PLT_RATIO, LATE_MOST_MS = 0.02, 50.0
"""On the critical path an answer may be late by a tenth of the round trip and 3 ms, or by a fiftieth of the page load
time, but not over 50 ms: docs/method.md tells how often undisturbed loads are."""
LATE_ANYWHERE_RATIO, LATE_ANYWHERE_MS = 1.0, 150.0
"""Beside the critical path, by one round trip and 150 ms: more may have changed what the page asked for next. When a
page asks dozens of servers at once, they wait for each other on two processors, for up to 100 ms, and it for none."""
OWN_MS = 50.0
"""What a server may take for an answer that it has ready: after more it stood still, between reading a request and
answering it. Of 2124 answers of a run of the paper's pages at 100 ms three took longer than 12 ms, one of them 98."""
ASK_ONLY = ("GET", "HEAD", "OPTIONS")
"""Methods of requests without a body."""
PACKET_MS = 15.0
"""Any single packet, on the critical path or not, by a tenth of the round trip and 15 ms: of thousands of packets a few
were up to 13.5 ms late on an idle virtual machine, and no answer for that."""
STEAL_RATIO = 0.20
"""Share of the page load time that a hypervisor may take, of an average processor: twelve loads of 1 to 2 s of which it
took 10% to 21% in small pieces took 2% less to 5% more time than the others; at 28% to 51% 10% to 40% more. One large
piece shows as a gap, or as late packets."""
STALL_RATIO = 0.05
"""Share of the page load time for which programs may wait for memory or the disk."""
LEAST_MS = 50.0
"""Less of steal and stalls is never held against a load: /proc/stat counts in steps of 10 ms, and a page of a tenth of
a second would be refused for a single one."""
WAITED_RATIO = 0.40
OTHERS_RATIO = 0.25
WAITED_LEAST_MS = 150.0
"""Shares of the page load time for which the page's own thread waited for a processor, and for which programs that are
not of the experiment had one; less than 150 ms of either never counts. Chrome's processes wait for each other, too: for
7% to 30%, in the first tenths of a second for half of the time, on an idle machine of two cores. With one core kept
busy pages that waited for 34% took up to 9% longer, for 42% 15%, and short pages that waited for 70% half as long
again."""
GAP_MS = 60.0
"""How late the ticker may wake up."""
STOPPED_MS = 30.0
"""A process seen stopped for longer: two looks in a row, so more than a debugger's or a shell's passing touch."""
SUSPENDED_MS = 10.0
"""CLOCK_BOOTTIME and CLOCK_MONOTONIC are read one after the other: less is the time between the two."""
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


@dataclass(frozen=True)
class Quiet:
    """A server's silence in ms from the load's start (harness.netlog.silences.Silence, by the server's name).

    `waited_ms`: for so long what ended it may have waited for user's own link (harness.measure.home_link).
    """

    server: str
    start_ms: float
    end_ms: float
    connecting: bool = False
    waited_ms: float = 0.0


def late_answers(quiet: Iterable[Quiet], answered: Sequence[Answered], allowed_ms: Mapping[str, float],
                 path: Sequence[Step], layout: Layout = EACH_ITS_OWN) -> list[LateAnswer]:
    """Return the silences that were too long, and by how much; the longest delay first.

    A silence may last for its server's `allowed_ms` (see `silence_ms`), for its `waited_ms` and, if an answer began in
    it, for the time that the server itself took for that answer. `path` is the load's critical path, `layout` says
    which server each host is on.
    """
    late, by_server = [], defaultdict[str, list[Answered]](list)
    for answer in answered:
        by_server[answer.server].append(answer)
    for silence in quiet:
        own_ms = _own_ms(silence, by_server[silence.server])
        late_ms = silence.end_ms - silence.start_ms - silence.waited_ms - allowed_ms[silence.server] - own_ms
        if late_ms > 0:
            since_ms = silence.end_ms - late_ms
            critical = any(step.kind in WAITS and layout.server_of(urlsplit(step.url).hostname or "") == silence.server
                           and step.start_ms < silence.end_ms and step.end_ms > since_ms for step in path)
            late.append(LateAnswer(silence.server, silence.start_ms, late_ms, critical))
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
    late = []
    for request in requests:
        due_ms = (request.time_s - start_s) * 1000
        if request.own_ms and due_ms <= plt_ms:
            critical = any(step.kind in WAITS and urlsplit(step.url).hostname == request.host
                           and step.start_ms <= due_ms + request.own_ms and step.end_ms >= due_ms for step in path)
            late.append(LateAnswer(request.host, due_ms, request.own_ms, critical))
    return sorted(late, key=lambda answer: -answer.late_ms)


def nothing_came(silence: Quiet, came_ms: Sequence[float], plt_ms: float) -> list[Quiet]:
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


def _own_ms(silence: Quiet, answered: Iterable[Answered]) -> float:
    """Return the longest that the server took for an answer which it began in the silence; `answered` are its own."""
    return max((answer.own_ms for answer in answered
                if silence.start_ms <= answer.begun_ms <= silence.end_ms), default=0.0)


def silence_ms(rtt_ms: float, bw_mbit: float) -> float:
    """Return how long a server may be silent: for a round trip, and while a full packet crosses the link each way."""
    return rtt_ms + 2 * alone_ms(FRAME_BYTES, bw_mbit)


def reasons(kept: Timekeeping, rtt_ms: float, plt_ms: float, *, lossy: bool = False) -> list[Reason]:
    """Return why time was not kept well enough in a load of `plt_ms` at `rtt_ms`. All these reasons are accidents.

    If each server has an RTT of its own (tfo.py --rtt), an answer is judged by its server's. `lossy` says that a buffer
    of the simulated network overflowed: then an answer may be late for as long as TCP takes to notice the loss.
    """
    late = _late_packets(kept, rtt_ms) or ([] if lossy else list(_late_answers(kept, rtt_ms, plt_ms))[:1])
    return [accident(text) for text in (*_suspended(kept), *_stopped(kept), *late, *_machine(kept, plt_ms))]


def late_limit_ms(rtt_ms: float, plt_ms: float) -> float:
    """Return by how much an answer on the critical path of a load of `plt_ms` may be late."""
    return max(LATE_RATIO * rtt_ms + LATE_MS, min(LATE_PLT_RATIO * plt_ms, LATE_MOST_MS))


def most_telling(late: Iterable[LateAnswer], rtt_ms: float, plt_ms: float, most: int) -> list[LateAnswer]:
    """Return at most so many late answers, the latest first: those that break the rule, then the critical ones.

    When much comes late at once, what the page waited for is seldom the latest of it.
    """
    told = sorted(late, key=lambda answer: (answer.late_ms <= _limit_ms(answer, rtt_ms, plt_ms), not answer.critical,
                                            -answer.late_ms))
    return sorted(told[:most], key=lambda answer: -answer.late_ms)


def _suspended(kept: Timekeeping) -> Iterable[str]:
    if (kept.suspended_ms or 0.0) > SUSPENDED_MS:
        yield f"the machine was suspended for {(kept.suspended_ms or 0.0) / 1000:.1f} s"


def _stopped(kept: Timekeeping) -> Iterable[str]:
    for name, stopped_ms in kept.stopped_ms.items():
        if stopped_ms > STOPPED_MS:
            yield f"{name} was stopped for {stopped_ms:.0f} ms: somebody sent it a signal or debugs it"


def _late_packets(kept: Timekeeping, rtt_ms: float) -> list[str]:
    if (kept.delay_line_late_ms or 0.0) > LATE_RATIO * rtt_ms + PACKET_MS:
        return [f"packets were late by up to {kept.delay_line_late_ms:.0f} ms: the delay line could not run, another "
                "program kept the processor"]
    return []


def _late_answers(kept: Timekeeping, rtt_ms: float, plt_ms: float) -> Iterable[str]:
    for answer in kept.late:
        if answer.late_ms > _limit_ms(answer, rtt_ms, plt_ms):
            where = ", and the page waited for it" if answer.critical else ""
            yield (f"an answer of {answer.host} was late by {answer.late_ms:.0f} ms{where}: its server or the network "
                   "could not run in time")


def _limit_ms(answer: LateAnswer, rtt_ms: float, plt_ms: float) -> float:
    """Return by how much an answer may be late in a load of `plt_ms` at `rtt_ms`, if its server has no own RTT."""
    own_ms = rtt_ms if answer.rtt_ms is None else answer.rtt_ms
    return late_limit_ms(own_ms, plt_ms) if answer.critical else LATE_ANYWHERE_RATIO * own_ms + LATE_ANYWHERE_MS


def _machine(kept: Timekeeping, plt_ms: float) -> Iterable[str]:
    if (kept.gap_ms or 0.0) > GAP_MS:
        yield f"the machine stood still for {kept.gap_ms:.0f} ms: another program, or its host, kept the processor"
    others_busy = (kept.others_busy_ms or 0.0) > max(OTHERS_RATIO * plt_ms, WAITED_LEAST_MS)
    if others_busy and (kept.page_waited_ms or 0.0) > max(WAITED_RATIO * plt_ms, WAITED_LEAST_MS):
        yield (f"the page waited for a processor for {kept.page_waited_ms:.0f} ms of its load: other programs kept "
               "them busy")
    steal_ms = (kept.steal_ms or 0.0) / (kept.processors or 1)
    for what, lost_ms, ratio in (
            ("the hypervisor gave the processor to others", steal_ms, STEAL_RATIO),
            ("programs waited for memory", kept.stall_ms.get("memory", 0.0), STALL_RATIO),
            ("programs waited for the disk", kept.stall_ms.get("io", 0.0), STALL_RATIO)):
        if lost_ms > max(ratio * plt_ms, LEAST_MS):
            yield f"{what} for {lost_ms:.0f} ms of the load"
