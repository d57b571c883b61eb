"""What a net-log's transactions are with its connections and look-ups: their sockets, and the phases of a HAR."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urldefrag

from harness.files.exchange import Phases
from harness.files.har import H2
from harness.files.headers import header_in
from harness.netlog.carriers import Carriers
from harness.netlog.connections import Connection, NameResolution
from harness.netlog.requests import NO_ORIGIN, HttpTransaction, load_flag

NOT_APPLICABLE = -1.0
IGNORE_LIMITS = "IGNORE_LIMITS"
"""The flag of requests that a page's thread waits for: none of Chrome's limits may hold them back, or it would stand
still for ever (Chromium's net/base/load_flags_list.h)."""


def complete(hops: list[HttpTransaction], carriers: Carriers, look_ups: list[NameResolution],
             constants: Mapping[str, Any], log_end: int) -> None:
    """Say of the page's transactions, in order of start, what their own events do not tell.

    `constants` are the log's: they name Chrome's errors and flags. `log_end` is the tick where the phases of what is
    not over are cut.
    """
    errors = {int(code): f"net::{name}" for name, code in (constants.get("netError") or {}).items()}
    awaited = load_flag(constants, IGNORE_LIMITS)
    look_up_of = {look_up.job: look_up for look_up in look_ups}
    shown: set[str] = set()
    answered: dict[tuple[str, bool], HttpTransaction] = {}
    for hop in hops:
        connection = carriers.get((hop.job, hop.version == H2))
        fresh = connection if connection and connection.jobs[:1] == [hop.job] else None
        look_up = look_up_of.get(fresh.connect_job) if fresh else None
        key = urldefrag(hop.url).url, hop.redirect_url is not None
        hop.main_frame = hop.main_frame or (key[0] in shown and _is_a_workers_navigation(hop))
        shown |= {key[0]} if hop.main_frame else set()
        if hop.from_cache and not hop.status_line and key in answered:      # the log leaves out a cached answer's head
            hop.status_line, hop.response_headers = answered[key].status_line, answered[key].response_headers
        elif hop.sent_by and hop.method == "GET" and hop.status not in (0, HTTPStatus.NOT_MODIFIED):
            answered[key] = hop
        hop.connection, hop.phases = connection.id if connection else None, _phases(hop, fresh, look_up, log_end)
        hop.error = errors.get(hop.net_error, f"net::{hop.net_error}") if hop.net_error else ""
        hop.initiator = "" if hop.initiator == NO_ORIGIN else hop.initiator
        hop.synchronous = bool(hop.load_flags & awaited)


def _is_a_workers_navigation(hop: HttpTransaction) -> bool:
    """Tell whether a service worker asked for a document that it was asked for: to it Chrome sends no request itself.

    The worker's request is for nothing of its own (Fetch, section 5.4: a new Request has the destination ""); one for
    a frame looks alike, but is for another URL than the page's.
    """
    return (header_in(hop.request_headers, "sec-fetch-mode") == "navigate"
            and header_in(hop.request_headers, "sec-fetch-dest") == "empty")


def _phases(hop: HttpTransaction, fresh: Connection | None, look_up: NameResolution | None, log_end: int) -> Phases:
    """Cut the time from start to end into phases; `fresh` is the connection if it was made for this request."""
    end = hop.end if hop.end is not None else max(log_end, hop.start)
    cuts = [hop.start]
    for tick in (hop.send_start, hop.send_end, hop.head_end):
        happened = tick if hop.sent_by and tick is not None else end
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
