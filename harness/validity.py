"""Whether a load is what it claims to be. Every rule gives its reason in words; a load with a reason is not counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

SYN_DATA_SHARE = 0.99
"""With TFO on and warm cookies at least this share of the connections that carried a request carried it in the SYN."""

DOCUMENT_IS_GOOD = (200, 304)
"""304 is what a page gets that loads itself again: the profile is fresh, so a 200 of the same load came before it."""

REQUEST_SET_TOLERANCE = 0.02
"""Share of a page's requests that may differ between its loads: recorded pages vary a little, error pages a lot."""


def reasons(load: dict[str, Any], recorded_bytes: int | None) -> list[str]:
    """Return why the load in `load` (see docs of the JSON format) is not valid; an empty list when it is.

    `recorded_bytes` is the size of the page's document in the mirror.
    """
    return [*load["errors"], *_no_load_event(load), *_document(load, recorded_bytes), *_network(load), *_fastopen(load),
            *_server_logs(load)]


def _no_load_event(load: dict[str, Any]) -> Iterable[str]:
    if load.get("plt_ms") is None and not load["errors"]:
        yield "no load event"
    if load.get("failed_requests", {}).get("unfinished"):
        yield f"requests that never ended: {load['failed_requests']['unfinished']}"


def _document(load: dict[str, Any], recorded_bytes: int | None) -> Iterable[str]:
    document = load.get("document")
    if document is None or not document["status"]:    # status 0: it was asked for, and no head of an answer came
        if not load["errors"]:
            yield "the document never answered"
    elif document["status"] not in DOCUMENT_IS_GOOD:
        yield f"the document answered {document['status']}"
    elif document["bytes"] != recorded_bytes:
        yield f"the document had {document['bytes']} bytes, the recorded one has {recorded_bytes}"


def _network(load: dict[str, Any]) -> Iterable[str]:
    """A retransmitted SYN waits for a second, an overflowed queue drops one: that is not the page's doing.

    That second (RFC 6298, section 2.1) is why a load ends only after 1.5 s of silence: meanwhile Chrome may have used a
    spare connection, which it begins after 250 ms, and be done.
    """
    for where, counters in load["counters"].items():
        if counters["TCPSynRetrans"]:
            yield f"SYN retransmitted by {where}: {counters['TCPSynRetrans']}"
        for name in ("ListenOverflows", "TCPFastOpenListenOverflow"):
            if counters[name]:
                yield f"{name} at {where}: {counters[name]}"
    if load["delay_line_drops"]:
        yield f"packets dropped by the delay line: {load['delay_line_drops']}"


def _fastopen(load: dict[str, Any]) -> Iterable[str]:
    carried, in_syn = load["connections_with_request"], load["syn_data_connections"]
    off_but_used = max(in_syn, load["counters"]["servers"]["TCPFastOpenPassive"])
    if load["tfo"] == 0 and off_but_used:
        yield f"TFO is off, but {off_but_used} connections carried data in the SYN"
    if load["tfo"] == 1 and load["run"] > 0 and in_syn < SYN_DATA_SHARE * carried:
        yield f"TFO is on, but only {in_syn} of {carried} connections carried their request in the SYN"


def _server_logs(load: dict[str, Any]) -> Iterable[str]:
    """What TFO did is judged by the servers' logs: a connection that Chrome used must stand there."""
    logged, used = load["connections_with_request"], len(load.get("connections", []))
    if logged < used and not load["errors"]:
        yield f"the servers' logs know of {logged} of the {used} connections that carried a request"


def request_set_reasons(loads: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Compare the requests of all loads of one page with those that most of them made; return the reasons of each."""
    sets = [Counter(load.get("request_urls", [])) for load in loads]
    counted = Counter(frozenset(requests.items()) for requests in sets if requests)
    if not counted:
        return [[] for _ in loads]
    usual = Counter(dict(counted.most_common(1)[0][0]))
    return [_compare(requests, usual) for requests in sets]


def _compare(requests: "Counter[str]", usual: "Counter[str]") -> list[str]:
    missing, extra = usual - requests, requests - usual
    differing = missing.total() + extra.total()
    if differing <= REQUEST_SET_TOLERANCE * usual.total():
        return []
    example = next(iter(missing or extra))
    return [f"requests differ from the page's other loads: {missing.total()} missing, {extra.total()} more "
            f"(such as {example[:80]})"]
