"""Why a load took as long as it did: its critical path, where the time went, and what TFO would make of it."""

from dataclasses import dataclass
from functools import lru_cache

from harness.analysis.causes import dependencies
from harness.analysis.cookies import without_a_cookie
from harness.analysis.critical_path import KINDS, Step, critical_path
from harness.analysis.timeline import read_timeline
from harness.analysis.what_if import SharedLink, fits_syn, rtt_to, saved_ms
from harness.files.experiment import ExperimentRecord, experiment_file, read_experiment
from harness.files.results import LoadResult
from harness.files.transport import Transport
from harness.system.untrusted import UnreadableFileError

COUNTED_FROM = 0.5
"""A handshake is counted when at least this part of a round trip of it lies on the path; with TFO none does."""


@dataclass(frozen=True)
class Explanation:
    """One load explained. Times in ms.

    `steps` lead from 0 to the load event without a gap. `handshakes` is the number of TCP handshakes among them,
    `savable_handshakes` how many of these TFO can save: those whose request fits into a SYN. `breakdown_ms` has the
    time of each kind of step (harness.analysis.critical_path.KINDS); together they are the PLT. `predicted_plt_ms` is
    what the PLT would be with TFO, by playing the load's dependency graph again; `simple_prediction_ms` is PLT -
    savable handshakes x RTT, each to its own server, which forgets that another chain may then be the longest.
    """

    steps: tuple[Step, ...]
    handshakes: int
    savable_handshakes: int
    breakdown_ms: dict[str, float]
    predicted_plt_ms: float
    simple_prediction_ms: float


@lru_cache(maxsize=4096)    # the table, the breakdown and the report all ask for the same loads
def explain(load: LoadResult, rtt_ms: float) -> Explanation | None:
    """Return the explanation of `load` at an RTT of `rtt_ms`; None without a load event or a HAR (logs of 2013).

    Where its experiment gave each server an RTT of its own, those count. Its files are read the first time only: they
    do not change while a program reads them.
    """
    timeline = read_timeline(load)
    if timeline is None:
        return None
    graph = dependencies(timeline)
    steps = critical_path(timeline, graph)
    experiment = _experiment(load)
    is_small = not (experiment and experiment.post_quantum)
    cookies = experiment.cookies if experiment else "warm"
    cold = without_a_cookie(timeline.requests, cookies)
    savable_entries = {request.entry for request in timeline.requests      # a page may ask for one URL several times
                       if request.order not in cold and fits_syn(request, small_client_hello=is_small)}
    own_rtts_ms = experiment.server_rtts_ms if experiment else {}
    handshakes = [(step, step_rtt_ms) for step in steps if step.kind == "connect"
                  for step_rtt_ms in [rtt_to(step.url, rtt_ms, own_rtts_ms)]
                  if step.length_ms >= COUNTED_FROM * step_rtt_ms]
    savable = [step_rtt_ms for step, step_rtt_ms in handshakes if step.entry in savable_entries]
    breakdown_ms = {kind: sum(step.length_ms for step in steps if step.kind == kind) for kind in KINDS}
    return Explanation(
        tuple(steps), len(handshakes), len(savable), breakdown_ms,
        timeline.plt_ms - saved_ms(timeline, graph, rtt_ms, small_client_hello=is_small,
                                   link=_shared_link(experiment), cookies=cookies, own_rtts_ms=own_rtts_ms),
        timeline.plt_ms - sum(savable))


def predicted_over(load: LoadResult, rtt_ms: float, over: Transport) -> float | None:
    """Return what the PLT of a load over TCP would be in ms if its connections had begun `over` another transport.

    None without a load event or a HAR.
    """
    timeline = read_timeline(load)
    if timeline is None:
        return None
    experiment = _experiment(load)
    return timeline.plt_ms - saved_ms(
        timeline, dependencies(timeline), rtt_ms, link=_shared_link(experiment), over=over,
        own_rtts_ms=experiment.server_rtts_ms if experiment else {})


def _shared_link(experiment: ExperimentRecord | None) -> SharedLink | None:
    """Return the link that transfers share: each server's own, or user's where that is the narrower one."""
    if experiment is None or experiment.bw_net_mbit is None:
        return None
    home_mbit = experiment.bw_home_mbit
    is_home = home_mbit is not None and home_mbit < experiment.bw_net_mbit
    return SharedLink(home_mbit if is_home and home_mbit else experiment.bw_net_mbit, by_all=is_home)


def _experiment(load: LoadResult) -> ExperimentRecord | None:
    """Return what the file of the load's experiment says, None without one that can be read."""
    try:
        return read_experiment(experiment_file(load.log.parent.parent, load.delaynet_ms))
    except UnreadableFileError:
        return None
