"""HTTP transactions made from the hops, connections and look-ups of a net-log, with the phases a HAR wants."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urldefrag

from harness.files.exchange import Phases
from harness.files.har import H3
from harness.files.transactions import NOT_APPLICABLE, HttpTransaction
from harness.netlog.connections import Carriers, Connection, NameResolution
from harness.netlog.requests import NO_ORIGIN, Hop, load_flag, mime_type_and_charset

IGNORE_LIMITS = "IGNORE_LIMITS"
"""The flag of requests that a page's thread waits for: none of Chrome's limits may hold them back, or it would stand
still for ever (Chromium's net/base/load_flags_list.h)."""


def make_transactions(hops: list[Hop], carriers: Carriers, look_ups: list[NameResolution], constants: Mapping[str, Any],
                      log_end: int) -> list[HttpTransaction]:
    """Return the transactions of `hops`, in their order.

    `constants` are the log's: they name Chrome's errors and flags. `log_end` is the tick where the phases of what is
    not over are cut.
    """
    errors = {int(code): f"net::{name}" for name, code in (constants.get("netError") or {}).items()}
    awaited = load_flag(constants, IGNORE_LIMITS)
    look_up_of = {look_up.job: look_up for look_up in look_ups}
    shown: set[str] = set()
    answered: dict[tuple[str, bool], Hop] = {}
    transactions = []
    for hop in hops:
        connection = carriers.connection_of(hop.job, http2=hop.http2)
        fresh = connection if connection and connection.jobs[:1] == [hop.job] else None
        look_up = look_up_of.get(fresh.connect_job) if fresh else None
        key = urldefrag(hop.url).url, hop.redirect_url is not None
        hop.main_frame = hop.main_frame or (key[0] in shown and _is_a_workers_navigation(hop))
        shown |= {key[0]} if hop.main_frame else set()
        if hop.from_cache and not hop.status_line and key in answered:      # the log leaves out a cached answer's head
            hop.status_line, hop.response_headers = answered[key].status_line, answered[key].response_headers
        elif hop.sends and hop.method == "GET" and hop.status()[0] not in (0, 304):
            answered[key] = hop
        transactions.append(_transaction(hop, connection, _phases(hop, fresh, look_up, log_end), errors, awaited))
    return transactions


def _is_a_workers_navigation(hop: Hop) -> bool:
    """Tell whether a service worker asked for a document that it was asked for: to it Chrome sends no request itself.

    The worker's request is for nothing of its own (Fetch, section 5.4: a new Request has the destination ""); one for
    a frame looks alike, but is for another URL than the page's.
    """
    headers = {name.lower(): value for name, value in hop.request_headers}
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "empty"


def _transaction(hop: Hop, connection: Connection | None, phases: Phases, errors: dict[int, str],
                 awaited: int) -> HttpTransaction:
    """Return a hop of a request as a transaction. `awaited` is the flag of requests for which the page stands still."""
    status, status_text, http_version = hop.status()
    http_version = H3 if hop.http3 else http_version
    mime_type, charset = mime_type_and_charset(hop.response_headers)
    from_network = bool(hop.sends) and status != 304
    return HttpTransaction(
        source=hop.source, hop=hop.number, url=hop.url, method=hop.method, main_frame=hop.main_frame,
        initiator="" if hop.initiator == NO_ORIGIN else hop.initiator, start=hop.start, end=hop.end(),
        http_version=http_version, status=status, status_text=status_text, mime_type=mime_type, charset=charset,
        request_line=hop.request_line, request_headers=tuple(hop.request_headers),
        response_headers=tuple(hop.response_headers),
        redirect_url=hop.redirect_url, early_hints=tuple(hop.early_hints), hinted=hop.hinted,
        error=errors.get(hop.net_error, f"net::{hop.net_error}") if hop.net_error else "",
        body_bytes=(hop.wire_bytes or hop.content_bytes) if from_network else 0, content_bytes=hop.content_bytes,
        from_cache=hop.from_cache, connection=connection.id if connection else None, sends=len(hop.sends),
        phases=phases, synchronous=bool(hop.load_flags & awaited))


def _phases(hop: Hop, fresh: Connection | None, look_up: NameResolution | None, log_end: int) -> Phases:
    """Cut the time from start to end into phases; `fresh` is the connection if it was made for this request."""
    end = hop.end()
    if end is None:
        end = max(log_end, hop.start)
    cuts = [hop.start]
    for tick in (hop.send_start, hop.send_end, hop.head_end):
        happened = tick if hop.sends and tick is not None else end
        cuts.append(min(max(happened, cuts[-1]), end))
    before, sent, head = cuts[1:]
    dns = connect = ssl = NOT_APPLICABLE
    ready = None if fresh is None else fresh.ssl[1] if fresh.ssl else fresh.connected
    if fresh is not None and ready is not None and ready >= hop.start:      # its TCP may have stood before
        dns = _overlap(look_up.start, look_up.end, hop.start, before) if look_up else NOT_APPLICABLE
        connect = _overlap(fresh.start, ready, hop.start, before)
        ssl = _overlap(*fresh.ssl, hop.start, before) if fresh.ssl else NOT_APPLICABLE
    blocked = before - hop.start - max(dns, 0.0) - max(connect, 0.0)
    return Phases(float(blocked), dns, connect, ssl, float(sent - before), float(head - sent), float(end - head))


def _overlap(start: int, end: int, lower: int, upper: int) -> float:
    return float(max(0, min(end, upper) - max(start, lower)))
