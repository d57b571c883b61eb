"""Why a load took as long as it did: its critical path, where the time went, and what TFO would make of it.

The critical path is the chain of waits that leads from the navigation to it, without a gap.

It is found by walking back from loadEventEnd. What did the event wait for last? A request: then what did that one wait
for, and so on (harness.analysis.causes tells) until the navigation. Every moment between belongs to one step of one
request:

    queue     the request waited for a free connection, or on one behind others, and nothing is known to have let it
              go. Where it is known which request's end did, the path goes on with that request instead
    dns       look-up of the name
    connect   the TCP handshake: the round trip that TCP Fast Open saves
    tls       the TLS handshake
    wait      from sending the request to the first byte of the answer: a round trip and the server's own time
    receive   the answer comes in
    cpu       everything else: Chrome parses, runs scripts and lays out; or nothing happens, before a timer
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from harness.analysis.causes import FREED_MS, Dependencies, cause_of_load_event, dependencies
from harness.analysis.stats import improvement_percent, median, median_if_any
from harness.analysis.timeline import TimedRequest, Timeline, read_timeline
from harness.analysis.what_if import Circumstances, SharedLink, handshake_ms, saved_ms
from harness.files.experiment import experiment_file, read_experiment
from harness.files.results import LoadResult
from harness.files.transport import Transport
from harness.system.untrusted import UnreadableFileError

KINDS = ("dns", "connect", "tls", "wait", "receive", "queue", "cpu")
_Stretch = tuple[str, float, TimedRequest | None]
"""A kind of step, back to when, and of which request."""
COUNTED_FROM = 0.5
"""A handshake is counted when at least this part of a round trip of it lies on the path; with TFO none does."""


@dataclass(frozen=True)
class Step:
    """One piece of the path, in ms from navigationStart; `url` is the request's, or whose answer is used.

    `entry` is that request's place in the HAR, -1 without one: a page may ask for one URL several times.
    """

    kind: str
    start_ms: float
    end_ms: float
    url: str
    entry: int = field(default=-1, compare=False)

    @property
    def length_ms(self) -> float:
        """How long it took."""
        return self.end_ms - self.start_ms


def critical_path(timeline: Timeline, graph: list[Dependencies]) -> list[Step]:
    """Return the steps from 0 to `timeline.plt_ms` in order: each begins where the one before ends, none is empty.

    `graph` is what harness.analysis.causes.dependencies returns for `timeline`.
    """
    request, at = cause_of_load_event(timeline)
    steps: list[Step] = []
    reached, way = timeline.plt_ms, [("cpu", at, request)]
    while True:
        for kind, back_to, step_of in way:
            # Times may be 1 ms apart that should be the same: so never forward, and never below 0.
            start = max(0.0, min(back_to, reached))
            if start < reached:
                steps.append(Step(kind, start, reached, *((step_of.url, step_of.entry) if step_of else ("", -1))))
            reached = start
        if request is None:
            return steps[::-1]
        way, request = _through(request, graph[request.order])


def _through(request: TimedRequest, why: Dependencies) -> tuple[list[_Stretch], TimedRequest | None]:
    """Return the way back from wherever the path meets `request` to what it waited for, and whose part comes next."""
    back: list[_Stretch] = [("receive", request.head_ms, request), ("wait", request.sent_ms, request)]
    if request.shared and why.freed is not None:    # it waited for what the request did that made the connection
        going_on = min(why.freed_at_ms, why.freed.end_ms)
        return [*back, ("queue" if request.sent_ms - going_on >= FREED_MS else "cpu", going_on, request)], why.freed
    for kind, handshake in (("tls", request.tls), ("connect", request.connect)):
        if handshake:
            back += [("cpu", handshake[1], request), (kind, handshake[0], request)]
    if request.connect:
        back.append(("dns", request.connect[0] - request.dns_ms, request))
    if why.freed is not None:
        return [*back, ("cpu", why.freed.end_ms, request)], why.freed
    is_queued = request.connection and request.dispatched_ms - request.start_ms >= FREED_MS
    return [*back, ("queue" if is_queued else "cpu", request.start_ms, request),
            ("cpu", why.cause.at_ms, why.cause.request)], why.cause.request


@dataclass(frozen=True)
class Explanation:
    """One load explained. Times in ms.

    `steps` lead from 0 to the load event, at `plt_ms`, without a gap. `handshakes` is the number of TCP handshakes
    among them. `predicted_plt_ms` is what the PLT would be with TFO, or over the transport that was asked for, by
    playing the load's dependency graph again; `simple_prediction_ms` is PLT - handshakes x RTT, each to its own server,
    of those whose request fits into a SYN: it forgets that another chain may then be the longest.
    """

    plt_ms: float
    steps: tuple[Step, ...]
    handshakes: int
    predicted_plt_ms: float
    simple_prediction_ms: float

    def ms(self, kind: str) -> float:
        """Return the time of all steps of one kind (of KINDS); all kinds together are the PLT."""
        return sum(step.length_ms for step in self.steps if step.kind == kind)


@lru_cache(maxsize=4096)    # the table, the breakdown and the report all ask for the same loads
def explain(load: LoadResult, rtt_ms: float, over: Transport = Transport.TFO) -> Explanation | None:
    """Return the explanation of `load` at an RTT of `rtt_ms`; None without a load event or a HAR (logs of 2013).

    It is a load over TCP, and what is predicted is its PLT if its connections had begun `over` another transport. Where
    its experiment gave each server an RTT of its own, those count. Its files are read the first time only: they do not
    change while a program reads them.
    """
    timeline = read_timeline(load)
    if timeline is None:
        return None
    graph, made_in = dependencies(timeline), _circumstances(load, rtt_ms)
    steps = critical_path(timeline, graph)
    savable_entries = {request.entry for request in timeline.requests      # a page may ask for one URL several times
                       if handshake_ms(request, made_in)}
    handshakes = [step for step in steps if step.kind == "connect"
                  and step.length_ms >= COUNTED_FROM * made_in.rtt_to(step.url)]
    savable_ms = sum(made_in.rtt_to(step.url) for step in handshakes if step.entry in savable_entries)
    plt_ms = timeline.plt_ms
    return Explanation(plt_ms, tuple(steps), len(handshakes), plt_ms - saved_ms(timeline, graph, made_in, over),
                       plt_ms - savable_ms)


def _circumstances(load: LoadResult, rtt_ms: float) -> Circumstances:
    """Return what a load was made in by its experiment's file, as usual without one that can be read."""
    try:
        experiment = read_experiment(experiment_file(load.log.parent.parent, load.delaynet_ms))
    except UnreadableFileError:
        return Circumstances(rtt_ms)
    home_mbit, net_mbit = experiment.bw_home_mbit or math.inf, experiment.bw_net_mbit
    link = None if net_mbit is None else SharedLink(min(home_mbit, net_mbit), by_all=home_mbit < net_mbit)
    return Circumstances(rtt_ms, experiment.server_rtts_ms, link, not experiment.post_quantum)


@dataclass(frozen=True)
class Prediction:
    """Of a row; times in ms. `measured_ms` is the median with TFO, None when it was not measured.

    `handshakes` are the lowest and the highest number on the critical path of the loads without TFO that could be
    explained. `simple_ms` is PLT - handshakes x RTT, `predicted_ms` what playing the loads again gives; both medians.
    """

    off_ms: float
    handshakes: tuple[int, int]
    simple_ms: float
    predicted_ms: float
    measured_ms: float | None

    @property
    def predicted_percent(self) -> float | None:
        """What TFO improves as predicted."""
        return improvement_percent(self.off_ms, self.predicted_ms) if self.off_ms > 0 else None

    @property
    def theory_percent(self) -> float | None:
        """Handshakes x RTT / PLT."""
        return improvement_percent(self.off_ms, self.simple_ms) if self.off_ms > 0 else None

    def difference_percent(self, predicted_ms: float) -> float | None:
        """Return by how much a prediction is above what was measured, in percent of that; None when nothing was."""
        return (predicted_ms - self.measured_ms) / self.measured_ms * 100 if self.measured_ms else None


def predict(explained: Sequence[Explanation], with_tfo: Sequence[LoadResult]) -> Prediction | None:
    """Return the prediction from the `explained` loads without TFO; None without a load that has a HAR (2013's)."""
    if not explained:
        return None
    counts = [found.handshakes for found in explained]
    return Prediction(median([found.plt_ms for found in explained]), (min(counts), max(counts)),
                      median([found.simple_prediction_ms for found in explained]),
                      median([found.predicted_plt_ms for found in explained]),
                      median_if_any([load.plt_ms for load in with_tfo if load.plt_ms is not None]))
