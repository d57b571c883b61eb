"""The record of a load, made of its evidence and of nothing else: what it got, and how well time was kept meanwhile."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec

from harness.analysis.causes import dependencies
from harness.analysis.critical_path import Step, critical_path
from harness.analysis.initiators import initiators_of
from harness.analysis.timeline import Timeline, make_timeline
from harness.browser.program import CLOCK_SHIFT_MS
from harness.files.har import LoadLog
from harness.files.load_parts import (
    CookieCounts,
    EarlyCounts,
    LateAnswer,
    MiddleboxCounts,
    ReceivedAnswers,
    Timekeeping,
)
from harness.files.load_record import FORMAT, LoadRecord
from harness.files.server_log import Early, FoundAs, ServerRequest
from harness.measure.coverage import RecordedPage, coverage
from harness.measure.evidence import Evidence
from harness.measure.laboratory import Laboratory
from harness.measure.received import received_answers
from harness.measure.timekeeping import (
    Answered,
    held_too_long,
    late_answers,
    most_telling,
    nothing_came,
    own_time_ms,
    silence_ms,
)
from harness.netlog.silences import Silence
from harness.netlog.transactions import SAFE
from harness.network.arrivals import Arrivals, Said
from harness.network.cookies import DOMAIN, sites_of_servers
from harness.system.tcp import without_port
from harness.system.ticker import Ticks

PAGE_PROCESS = "(renderer)"
"""How the names of the processes end in which Chrome runs a page's scripts and lays it out."""
NOT_CHROMES = ("attempt", "why_not_kinds", "early_data", "cookies", "answers", "timekeeping")
"""What of a record is not for Chrome's side to say, besides what is known here of each load."""
TICKETS = 2
"""So many tickets Chrome keeps for a host, each for one connection."""
MOST_LATE = 20
"""So many late answers are kept in a load's record, those first by which it is judged."""


def record(evidence: Evidence) -> LoadRecord:
    """Return the record of a load, which is not judged yet. A load that fails has a record, too."""
    made = _reported(evidence.report, known(evidence))
    if made.document:
        sizes = evidence.lab.web.page_set.document_bytes.get(evidence.load.page, ())
        made = replace(made, document=replace(made.document, recorded_bytes=tuple(sizes)))
    timeline = timeline_of(evidence.har, made, evidence.warm_up)
    path = critical_path(timeline, dependencies(timeline)) if timeline else ()
    return replace(made, early_data=early_data_of(evidence, made, timeline),
                   cookies=cookies_of(evidence, made) if evidence.load.tfo else None,
                   timekeeping=timekeeping_of(evidence, made, path), answers=answers_of(evidence, made, path))


def known(evidence: Evidence) -> dict[str, Any]:
    """Return what is known of a load whatever Chrome's side reports."""
    lab, load, requests, grown = evidence.lab, evidence.load, evidence.requests, evidence.grown
    first = [request for request in requests if request.request == 1]
    return {
        "url": load.page.url, "page": load.page.name, "delaynet_ms": lab.delaynet_ms, "rtt_ms": lab.rtt_ms,
        "tfo": load.tfo, "early": load.over.early, "quic": load.over.quic, "run": load.run,
        "experiment": lab.experiment_id, "network": lab.network,
        "connections_with_request": len(first),
        "syn_data_connections": sum(request.syn_data for request in first),
        "silent_connections": sum(request.found == FoundAs.SILENT for request in requests),
        "counters": {side: grown[side] for side in ("user", "servers", "loopback") if side in grown},
        "delay_line_drops": grown.get("delay line", {}).get("drops", 0), "buffer_drops": grown.get("buffers") or None,
        "middlebox": _middlebox(evidence), "balancer": lab.settings.balancer,
        "began_s": evidence.began_s, "environment": evidence.environment,
    }


def _middlebox(evidence: Evidence) -> MiddleboxCounts | None:
    """Return what the middlebox did to the load's SYNs; None without one."""
    lab, box = evidence.lab, evidence.lab.middlebox
    if box is None:
        return None
    behind = {host for server in box.servers for host in lab.web.servers[server]}
    passed = sum(request.syn_data for request in evidence.requests if request.request == 1 and request.host in behind)
    return MiddleboxCounts(box.kind.box, len(box.servers), passed=passed, **evidence.grown["middlebox"])


def _reported(report: Mapping[str, Any], known: dict[str, Any]) -> LoadRecord:
    """Return what Chrome's side reports and what is `known` here. Where both do, what is known counts."""
    base = {**known, "format": FORMAT, "valid": True, "why_not": []}
    try:
        return LoadRecord.from_json({**{key: value for key, value in report.items() if key not in NOT_CHROMES}, **base})
    except ValueError as error:         # Chrome's side may have been taken over by the page
        environment_of = {**known["environment"], "versions": None, "argv": None}
        return LoadRecord.from_json({**base, "environment": environment_of,
                                     "errors": [f"the report of load_page.py is not one: {error}"]})


def timekeeping_of(evidence: Evidence, record: LoadRecord, path: Sequence[Step]) -> Timekeeping | None:
    """Return how well time was kept in the load of `record`, from what was noted around it; `path` is its critical one.

    None for a load without a load event: there is no time to judge.
    """
    if not record.plt_ms or not record.time_origin_ms:
        return None
    ticks = evidence.ticks
    start_s = (record.time_origin_ms - CLOCK_SHIFT_MS) / 1000
    end_s = start_s + record.plt_ms / 1000
    late = _late(evidence, record, start_s, path)
    machine_ms = {what: ticks.grown_ms(what, start_s, end_s)[0] for what in ("steal", "busy", "suspended")}
    waited_ms = ticks.grown_ms("waited", start_s, end_s)
    return Timekeeping(
        late=tuple(most_telling(late, record.rtt_ms, record.plt_ms, MOST_LATE)),
        delay_line_late_ms=evidence.lab.delay.latest_ms(start_s, end_s),
        steal_ms=machine_ms["steal"], processors=evidence.environment.get("cpus"),
        gap_ms=ticks.largest_gap_ms(start_s, end_s), suspended_ms=machine_ms["suspended"],
        others_busy_ms=max(0.0, machine_ms["busy"] - sum(ticks.grown_ms("worked", start_s, end_s).values())),
        page_waited_ms=_of_page(ticks, waited_ms),
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
        return held_too_long(evidence.requests, start_s, plt_ms, path)
    quiet = _quiet(lab, evidence.arrivals, evidence.report.get("silences"), start_s, plt_ms)
    answered = [*_answered(lab, record.page, start_s, evidence.requests)]
    allowed_ms = {name: silence_ms(rtt_ms, lab.speeds.bw_net_mbit) for name, rtt_ms in lab.measured_rtt_ms.items()}
    late = late_answers(quiet, answered, allowed_ms, path, lab.web.layout)
    own_ms = lab.speeds.rtts_ms(lab.speeds.own_delays_ms)
    return [replace(answer, rtt_ms=own_ms.get(answer.host)) for answer in late]


def _answered(lab: Laboratory, page: str, start_s: float, requests: Sequence[ServerRequest]) -> Iterator[Answered]:
    """Yield the answers of a load of `page`, and the pieces of those that their servers send with pauses."""
    paced = lab.recorded.get(page, RecordedPage({})).paced
    for request in requests:
        if request.own_ms is not None:
            server = lab.web.layout.server_of(request.host)
            begun_ms = (request.time_s - start_s) * 1000 + request.own_ms
            answer = paced.get(request.answer)
            thinks = lab.settings.think is not None or (answer is not None and answer.slow_ms > 0)
            yield Answered(server, begun_ms, own_time_ms(request, thinks=thinks))
            for (before_ms, _), (after_ms, _) in pairwise(answer.arrivals if answer else ()):
                yield Answered(server, begun_ms + after_ms, after_ms - before_ms)


def _quiet(lab: Laboratory, arrivals: Arrivals, silences: object, start_s: float, plt_ms: float) -> list[Silence]:
    """Return the parts of servers' silences, by the servers' names, in which nothing reached `user`.

    The whole silences if that is not known; none if Chrome's side reported something else.
    """
    names = {host.address: name for name, host in lab.star.servers.items()}
    try:
        found = [replace(silence, server=names[silence.server])
                 for silence in msgspec.convert(silences or [], list[Silence]) if silence.server in names]
    except msgspec.ValidationError:
        return []
    if arrivals.lost:
        return found
    came_ms = {(name, connecting): [(at_s - start_s) * 1000 + lab.delay.held_ms[host.address]
                                    for at_s in arrivals.of(host.address, connecting=connecting)]
               for name, host in lab.star.servers.items() for connecting in (False, True)}
    return [part for silence in found
            for part in nothing_came(silence, came_ms[silence.server, silence.connecting], plt_ms)]


def cookies_of(evidence: Evidence, record: LoadRecord) -> CookieCounts:
    """Return which cookies the servers gave in the load of `record`."""
    lab, names = evidence.lab, {host.address: name for name, host in evidence.lab.star.servers.items()}
    givers = [address for (address, said), at_s in evidence.arrivals.at_s.items() if said is Said.COOKIE for _ in at_s]
    gave = {names[address] for address in givers if address in names}
    visited = {names[address] for connection in record.connections or ()
               if (address := without_port(connection.address)) in names}
    if lab.settings.cookies == DOMAIN:
        sites = sites_of_servers(lab.web.servers)
        gave, visited = ({sites[name] for name in servers} for servers in (gave, visited))
    return CookieCounts(mode=lab.settings.cookies, given=len(givers), first=len(gave), visited=len(visited),
                        lost=evidence.arrivals.lost)


def early_data_of(evidence: Evidence, record: LoadRecord, timeline: Timeline | None) -> EarlyCounts | None:
    """Return what the servers and Chrome say of early data; None of a load that no other visit was before."""
    if not evidence.lab.settings.warm_pairs:
        return None
    first = [request for request in evidence.requests if request.request == 1 and request.scheme == "https"]
    may: dict[object, int] = defaultdict(int)
    possible = []
    for request in first:
        if request.method in SAFE and request.found != FoundAs.LIVE:
            may[request.host] += request.protocol.startswith("HTTP/1")
            if may[request.host] <= TICKETS:
                possible.append(request)
    sent = [request for request in first if request.early != Early.NO]
    later = [request for request in possible if request.early == Early.NO]
    connections = record.connections or ()
    accepted = sum(connection.early is True for connection in connections)
    of_https = {request.connection for request in (timeline.requests if timeline else ())
                if request.url.startswith("https:")}
    over_tcp = sum(not connection.quic and str(connection.id) in of_https for connection in connections)
    return EarlyCounts(
        possible=len(possible), too_late=min(len(later), sum(connection.asked_late for connection in connections)),
        resumed=sum(request.resumed for request in first), sent=len(sent), accepted=accepted,
        in_syn=sum(request.early == Early.SYN for request in sent),
        others=tuple(f"{request.host}{request.path}" for request in later)[:MOST_LATE],
        over_tcp=over_tcp if evidence.load.over.quic else 0)


def answers_of(evidence: Evidence, record: LoadRecord, path: Sequence[Step]) -> ReceivedAnswers | None:
    """Return what the requests of the load got; None for a load without a HAR. `path` is its critical path."""
    lab = evidence.lab
    if evidence.har is None:
        return None
    critical = frozenset(step.entry for step in path) if record.plt_ms else None
    answers = received_answers(evidence.har, record.load_event, evidence.requests, critical,
                               silent=lab.web.page_set.recording.silent.get(record.page, ()))
    return replace(answers, coverage=coverage(answers, lab.recorded.get(record.page, RecordedPage({}))))


def timeline_of(log: LoadLog | None, record: LoadRecord, warm_up: LoadRecord | None = None) -> Timeline | None:
    """Return the timeline of a load by its HAR and the page's `warm_up`; None when it is not known."""
    return make_timeline(log, record, record.plt_ms or 0.0, initiators_of(record, warm_up)) if log else None
