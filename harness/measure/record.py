"""The record of a load, made of its evidence and of nothing else: what it got, and how well time was kept meanwhile."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.analysis.asked_for import initiators_of
from harness.analysis.causes import dependencies
from harness.analysis.explanation import critical_path
from harness.analysis.timeline import Timeline, make_timeline
from harness.files.load_parts import CookieCounts, EarlyCounts, MiddleboxCounts
from harness.files.load_record import FORMAT, LoadRecord
from harness.files.server_log import Early, FoundAs
from harness.measure.coverage import coverage
from harness.measure.evidence import Evidence
from harness.measure.received import received_answers
from harness.measure.timekeeping import timekeeping_of
from harness.netlog.transactions import SAFE
from harness.network.arrivals import Said
from harness.network.cookies import DOMAIN, sites_of_servers
from harness.system.tcp import without_port

NOT_CHROMES = ("attempt", "why_not_kinds", "early_data", "cookies", "answers", "timekeeping")
"""What of a record is not for Chrome's side to say, besides what is known here of each load."""
TICKETS = 2
"""So many tickets Chrome keeps for a host, each for one connection."""


def record(evidence: Evidence) -> LoadRecord:
    """Return the record of a load, which is not judged yet. A load that fails has a record, too."""
    made, har = _reported(evidence.report, known(evidence)), evidence.har
    if made.document:
        made = replace(made, document=replace(made.document, recorded_bytes=tuple(evidence.recorded.document_bytes)))
    timeline = make_timeline(har, made, made.plt_ms or 0.0, initiators_of(made, evidence.warm_up)) if har else None
    path = critical_path(timeline, dependencies(timeline)) if timeline else ()
    answers = None
    if har:
        answers = received_answers(har, evidence.requests, {step.entry for step in path} if made.plt_ms else None,
                                   silent=evidence.recorded.silent)
        answers = replace(answers, coverage=coverage(answers, evidence.recorded))
    return replace(made, early_data=early_data_of(evidence, made, timeline),
                   cookies=cookies_of(evidence, made) if evidence.load.tfo else None,
                   timekeeping=timekeeping_of(evidence, made, path), answers=answers)


def known(evidence: Evidence) -> dict[str, Any]:
    """Return what is known of a load whatever Chrome's side reports."""
    lab, load, requests, grown = evidence.lab, evidence.load, evidence.requests, evidence.grown
    first = [request for request in requests if request.request == 1]
    return {
        "url": load.page.url, "page": load.page.name, "delaynet_ms": lab.delaynet_ms,
        "rtt_ms": lab.rtt_ms, "tfo": load.tfo, "early": load.over.early, "quic": load.over.quic,
        "run": load.run, "experiment": lab.experiment_id, "network": lab.network,
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
    box = evidence.lab.middlebox
    if box is None:
        return None
    behind = {host for server in box.servers for host in evidence.lab.web.servers[server]}
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


def cookies_of(evidence: Evidence, record: LoadRecord) -> CookieCounts:
    """Return which cookies the servers gave in the load of `record`."""
    lab, names = evidence.lab, evidence.lab.server_names
    given = {address: len(said.get(Said.COOKIE, ())) for address, said in evidence.arrivals.at_s.items()}
    gave = {names[address] for address, count in given.items() if count and address in names}
    visited = {names[address] for connection in record.connections or ()
               if (address := without_port(connection.address)) in names}
    if lab.settings.cookies == DOMAIN:
        sites = sites_of_servers(lab.web.servers)
        gave, visited = ({sites[name] for name in servers} for servers in (gave, visited))
    return CookieCounts(mode=lab.settings.cookies, given=sum(given.values()), first=len(gave), visited=len(visited))


def early_data_of(evidence: Evidence, record: LoadRecord, timeline: Timeline | None) -> EarlyCounts | None:
    """Return what the servers and Chrome say of early data; None of a load that no other visit was before."""
    if not evidence.lab.settings.warm_pairs:
        return None
    first = [request for request in evidence.requests if request.request == 1 and request.scheme == "https"]
    tickets, possible = Counter[str](), []
    for request in first:
        if request.method in SAFE and request.found != FoundAs.LIVE:
            tickets[request.host] += request.protocol.startswith("HTTP/1")
            if tickets[request.host] <= TICKETS:
                possible.append(request)
    sent = [request for request in first if request.early != Early.NO]
    later = sum(request.early == Early.NO for request in possible)
    connections = record.connections or ()
    of_https = {request.connection for request in (timeline.requests if timeline else ())
                if request.url.startswith("https:")}
    over_tcp = sum(not connection.quic and str(connection.id) in of_https for connection in connections)
    return EarlyCounts(
        possible=len(possible), too_late=min(later, sum(connection.asked_late for connection in connections)),
        resumed=sum(request.resumed for request in first), sent=len(sent),
        accepted=sum(connection.early is True for connection in connections),
        in_syn=sum(request.early == Early.SYN for request in sent),
        over_tcp=over_tcp if evidence.load.over.quic else 0)
