"""How well time was kept during one load: what is made of all that was noted around it.

A page load time is true only if no packet, no server and no process of Chrome had to wait for the machine. Nothing can
promise that: a laptop suspends, a virtual machine's host is busy, another program takes the processor. So each load's
record has the proof, measured during the load, in the same way with netem and with the delay line:

    late answers    how much longer a server was silent than a round trip and its own time (harness.netlog.silences)
                    while nothing from it arrived (harness.network.arrivals), and whether the load event waited for that
                    (harness.analysis.explanation)
    delay line      how late it released packets, as it counted itself
    stopped         processes of Chrome that were stopped by a signal (harness.system.ticker), which no page does
    machine         steal, stalls (PSI), suspends, the largest gap of a clock that ticked beside the load, and how long
                    the page's own thread waited for a processor

All of this is measured from the navigation to the load event: what happens later does not change the page load time.
The rules that judge it are in harness.measure.rules.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from urllib.parse import urlsplit

import msgspec

from harness.analysis.explanation import Step
from harness.analysis.what_if import alone_ms
from harness.browser.program import CLOCK_SHIFT_MS
from harness.files.hosts import EACH_ITS_OWN, Layout
from harness.files.load_parts import LateAnswer, Timekeeping
from harness.files.load_record import LoadRecord
from harness.files.server_log import ServerRequest
from harness.measure.evidence import Evidence
from harness.netlog.silences import Silence
from harness.system.tcp import FRAME_BYTES
from harness.system.ticker import Ticks

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
PAGE_PROCESS = "(renderer)"
"""How the names of the processes end in which Chrome runs a page's scripts and lays it out."""


@dataclass(frozen=True)
class Answered:
    """When a server began an answer, in ms from the load's start, and its own time for it."""

    server: str
    begun_ms: float
    own_ms: float


def timekeeping_of(evidence: Evidence, record: LoadRecord, path: Sequence[Step]) -> Timekeeping | None:
    """Return how well time was kept in the load of `record`, from what was noted around it; `path` is its critical one.

    None for a load without a load event: there is no time to judge.
    """
    if not record.plt_ms or not record.time_origin_ms:
        return None
    ticks = evidence.ticks
    start_s = (record.time_origin_ms - CLOCK_SHIFT_MS) / 1000
    end_s = start_s + record.plt_ms / 1000
    grown_ms = partial(ticks.grown_ms, start_s=start_s, end_s=end_s)
    return Timekeeping(
        late=tuple(_late(evidence, record, start_s, path)),
        delay_line_late_ms=evidence.lab.delay.latest_ms(start_s, end_s),
        steal_ms=grown_ms("steal")[0], processors=evidence.environment.get("cpus"),
        gap_ms=ticks.largest_gap_ms(start_s, end_s), suspended_ms=grown_ms("suspended")[0],
        others_busy_ms=max(0.0, grown_ms("busy")[0] - sum(grown_ms("worked").values())),
        page_waited_ms=_of_page(ticks, grown_ms("waited")),
        page_waited_for_others_ms=waited_for_others_ms(
            ticks, min(end_s, start_s + (record.first_byte_ms or 0.0) / 1000), end_s),
        stopped_ms=ticks.stopped_ms(start_s, end_s))


def waited_for_others_ms(ticks: Ticks, start_s: float, end_s: float) -> float:
    """Return for how long at most the page's thread waited for a processor because others than Chrome had one.

    Chrome's processes wait for each other on any machine, and that belongs to the page. The others are other programs,
    the experiment's own servers and network, and a hypervisor: they made it wait for no longer than they worked.
    """
    waited_ms, worked_ms = (ticks.grown_ms(what, start_s, end_s) for what in ("waited", "worked"))
    [busy_ms], [steal_ms] = (ticks.grown_ms(what, start_s, end_s).values() for what in ("busy", "steal"))
    of_chrome_ms = sum(ms for pid, ms in worked_ms.items() if pid in waited_ms)
    others_ms = max(sum(worked_ms.values()), busy_ms) - of_chrome_ms + steal_ms
    return min(_of_page(ticks, waited_ms), max(0.0, others_ms))


def _of_page(ticks: Ticks, waited_ms: Mapping[int, float]) -> float:
    """Return how long the process waited that runs the page; of several the one that waited longest."""
    return max((ms for pid, ms in waited_ms.items() if ticks.names.get(pid, "").endswith(PAGE_PROCESS)), default=0.0)


def _late(evidence: Evidence, record: LoadRecord, start_s: float, path: Sequence[Step]) -> list[LateAnswer]:
    """Return the late answers of a load that began at `start_s`, in s since the epoch.

    None where all servers' packets queue before user's own link (--paper): whoever seems silent may wait there. And
    none of the single-threaded server, which lets requests wait by itself.
    """
    lab, plt_ms = evidence.lab, record.plt_ms or 0.0
    if lab.settings.server == "2013" or lab.queues_at_home:
        return []
    if lab.network == "loopback":
        held = held_back(evidence.requests, start_s, plt_ms)
        return late_answers(held, (), {silence.server: 0.0 for silence in held}, path)
    rate_mbit = lab.speeds.bw_net_mbit
    allowed_ms = {name: silence_ms(rtt_ms, rate_mbit) for name, rtt_ms in lab.measured_rtt_ms.items()}
    late = late_answers(_quiet(evidence, start_s, plt_ms), [*_answered(evidence, start_s)], allowed_ms, path,
                        lab.web.layout)
    own_ms = lab.speeds.rtts_ms(lab.speeds.own_delays_ms)
    return [replace(answer, rtt_ms=own_ms.get(answer.host)) for answer in late]


def _answered(evidence: Evidence, start_s: float) -> Iterator[Answered]:
    """Yield the answers of a load, and the pieces of those that their servers send with pauses."""
    lab = evidence.lab
    for request in evidence.requests:
        if request.own_ms is not None:
            server = lab.web.layout.server_of(request.host)
            recorded = evidence.recorded.answers.get(request.answer or "")
            begun_ms = (request.time_s - start_s) * 1000 + request.own_ms
            thinks = lab.settings.think is not None or bool(recorded and recorded.slow_ms)
            yield Answered(server, begun_ms, own_time_ms(request, thinks=thinks))
            for (before_ms, _), (after_ms, _) in pairwise(recorded.arrivals if recorded else ()):
                yield Answered(server, begun_ms + after_ms, after_ms - before_ms)


def _quiet(evidence: Evidence, start_s: float, plt_ms: float) -> list[Silence]:
    """Return the parts of servers' silences, by the servers' names, in which nothing reached `user`.

    The whole silences if that is not known; none if Chrome's side reported something else.
    """
    held_ms, arrivals, names = evidence.lab.delay.held_ms, evidence.arrivals, evidence.lab.server_names
    try:
        found = [replace(silence, server=names[silence.server])
                 for silence in msgspec.convert(evidence.report.get("silences") or [], list[Silence])
                 if silence.server in names]
    except msgspec.ValidationError:
        return []
    if arrivals.lost:
        return found
    came_ms = {(name, connecting): [(at_s - start_s) * 1000 + held_ms[address]
                                    for at_s in arrivals.of(address, connecting=connecting)]
               for address, name in names.items() for connecting in (False, True)}
    return [part for silence in found
            for part in nothing_came(silence, came_ms[silence.server, silence.connecting], plt_ms)]


def late_answers(quiet: Iterable[Silence], answered: Sequence[Answered], allowed_ms: Mapping[str, float],
                 path: Sequence[Step], layout: Layout = EACH_ITS_OWN) -> list[LateAnswer]:
    """Return the silences that were too long, and by how much; the latest first.

    A silence may last for its server's `allowed_ms` (see `silence_ms`) and, if an answer began in it, for the time that
    the server itself took for that answer. `path` is the load's critical path, `layout` says which server each host is
    on.
    """
    late = []
    for silence in quiet:
        late_ms = silence.end_ms - silence.start_ms - allowed_ms[silence.server]
        if late_ms > 0:     # few are: who answered need not be looked for in the others
            late_ms -= max((answer.own_ms for answer in answered if answer.server == silence.server
                            and silence.start_ms <= answer.begun_ms <= silence.end_ms), default=0.0)
        if late_ms > 0:
            since_ms = silence.end_ms - late_ms
            critical = any(step.kind in WAITS and step.start_ms < silence.end_ms and step.end_ms > since_ms
                           and layout.server_of(urlsplit(step.url).hostname or "") == silence.server for step in path)
            late.append(LateAnswer(silence.server, silence.start_ms, late_ms, critical))
    return sorted(late, key=lambda answer: -answer.late_ms)


def own_time_ms(request: ServerRequest, *, thinks: bool) -> float:
    """Return how much of a server's own time for an answer makes the answer not late.

    All of it where the server `thinks` (tfo.py --think), and of a request with a body, which still comes meanwhile.
    """
    own_ms = request.own_ms or 0.0
    return own_ms if thinks or request.method not in ASK_ONLY else min(own_ms, OWN_MS)


def held_back(requests: Iterable[ServerRequest], start_s: float, plt_ms: float) -> list[Silence]:
    """Return how long servers that hold answers back (harness.replay.connection) held each longer than it was due.

    In the logs of such servers the server's own time is this delay: an answer is due at its request's `time_s` (in s
    since the epoch, as the load's `start_s`). Answers that are due after the load event at `plt_ms` are left out.
    """
    due_ms = [((request.time_s - start_s) * 1000, request) for request in requests]
    return [Silence(request.host, at_ms, at_ms + (request.own_ms or 0.0))
            for at_ms, request in due_ms if at_ms <= plt_ms]


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
