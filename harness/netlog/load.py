"""What Chrome's net-log says, read whole: transactions, look-ups, connections, and what failed.

    netlog = read_netlog(Path("netlog.json"))
    start_tick = netlog.tick(navigation_start_unix_ms)          # the real one (harness.browser.page.TIME_ORIGIN)
    # harness.netlog.page makes of it a load's exchanges, HAR and log.

A transaction is one request and its answer; a request with a redirect is one transaction per hop. Only the page's own
count: of its frames and workers, over http or https. What Chrome asks for itself (its start page, clock, updates,
accounts) and what needs no network (data:, blob:, chrome:) is left out and counted in `left_out`. Ticks are ms of
Chrome's monotonic clock.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

from harness.files.exchange import H2, UNFINISHED, Phases
from harness.files.headers import header_in
from harness.netlog.carriers import Carriers, Connections
from harness.netlog.connections import Connection, Job, host_and_port
from harness.netlog.file import Subscriber, read_netlog_file
from harness.netlog.requests import Requests
from harness.netlog.transactions import NO_ORIGIN, PREFETCH, SAFE, HttpTransaction, load_flag

ONLY_IF_CACHED = "asked of the cache only"
NAME_NOT_RESOLVED = -105
"""net::ERR_NAME_NOT_RESOLVED: in a laboratory what Chrome's start page gets, whose host no resolver rule maps."""
CACHE_MISS = -400
"""net::ERR_CACHE_MISS: what the cache alone was asked for (fetch's only-if-cached) it had not; nothing was sent."""


@dataclass
class NetLog:
    """One net-log. `transactions` are in order of start, `connections` too. `left_out` counts requests by reason.

    `end_tick` is the last event's. `problems` are one line each: ``file:line: problem``.
    """

    transactions: list[HttpTransaction] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    look_ups: list[Job] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    time_offset_ms: float = 0.0
    browser_version: str = ""
    end_tick: int = 0
    problems: list[str] = field(default_factory=list)

    def tick(self, unix_ms: float) -> float:
        """Return the tick of a Unix time in ms, as Chrome itself saw the time (navigation timing, Date.now())."""
        return unix_ms - self.time_offset_ms

    def unix_ms(self, tick: float) -> float:
        """Return the Unix time in ms at `tick`."""
        return tick + self.time_offset_ms


def read_netlog(path: Path, *others: Subscriber[Any], keep_bodies: bool = False,
                is_over: Callable[[], bool] | None = None) -> NetLog:
    """Read a net-log file, complete or cut off; `others` get their events by the way. Bodies may be large.

    If there is `is_over`, Chrome is still writing it, until that says that it is not.

    A request is kept when a page's origin made it, whatever its host (so a name that is not mapped shows as a failure),
    and so is a navigation of the main frame unless its host has no address: that is Chrome's start page.

    Raises ExperimentError when there is no such file.
    """
    requests, wires = Requests(keep_bodies=keep_bodies), Connections()
    log = read_netlog_file(path, requests, *wires.subscribers, *others, is_over=is_over)
    client = log.constants.get("clientInfo") or {}
    netlog = NetLog(time_offset_ms=float(log.constants.get("timeTickOffset", 0)), end_tick=log.end_tick,
                    browser_version=str(client.get("version", "")), problems=log.problems)
    kept, left_out_jobs = _keep(requests, load_flag(log.constants, PREFETCH), netlog.left_out)
    connections, carriers, look_ups = wires.read()
    _note_requests(kept, carriers)
    netlog.connections = [connection for connection in connections
                          if connection.requests or not left_out_jobs.intersection(connection.jobs)]
    names = {host_and_port(hop.url) for hop in kept}
    netlog.look_ups = [look_up for look_up in look_ups if look_up.name in names]
    _complete(kept, carriers, netlog.look_ups, log.constants, log.end_tick)
    netlog.transactions = kept
    return netlog


def _keep(requests: Requests, ahead: int, left_out: Counter[str]) -> tuple[list[HttpTransaction], set[int]]:
    """Return the page's hops in order of start and the stream jobs of those left out; count the latter by reason.

    `ahead` is the flag of what is fetched for a page that may come later.
    """
    kept: list[HttpTransaction] = []
    jobs: set[int] = set()
    each = [request.hops for request in requests.found.values()]
    for hop in (hop for hops in each for hop in hops):
        hop.main_frame = hop.main_frame and not hop.load_flags & ahead
    for hops in each:
        reason = _why_left_out(hops)
        if reason:
            left_out[reason] += max(1, len(hops))
            jobs.update(job for hop in hops for job in (*hop.sent_by, hop.job))
        else:
            kept += hops
    jobs.discard(0)
    return sorted(kept, key=lambda hop: hop.start), jobs


def _why_left_out(hops: list[HttpTransaction]) -> str:
    """Return why a request is not the page's, "" when it is."""
    if not hops:
        return "never started"
    scheme = hops[0].url.partition(":")[0]
    if scheme not in ("http", "https"):
        return f"{scheme}:"
    if hops[0].initiator == NO_ORIGIN and not hops[0].main_frame:
        return "Chrome's own"
    if hops[0].main_frame and hops[0].net_error == NAME_NOT_RESOLVED:
        return "Chrome's own"
    if hops[-1].net_error == CACHE_MISS and not any(hop.sends for hop in hops):
        return ONLY_IF_CACHED
    return ""


def _note_requests(hops: list[HttpTransaction], carriers: Carriers) -> None:
    for hop in hops:
        for job in hop.sent_by:
            connection = carriers.get((job, hop.version == H2))
            if connection is not None:
                connection.requests += 1
                if hop.method in SAFE and hop.send_end is not None:
                    connection.first_asked = min(hop.send_end, connection.first_asked or hop.send_end)


NOT_APPLICABLE = -1.0
IGNORE_LIMITS = "IGNORE_LIMITS"
"""The flag of requests that a page's thread waits for: none of Chrome's limits may hold them back, or it would stand
still for ever (Chromium's net/base/load_flags_list.h)."""


def _complete(hops: list[HttpTransaction], carriers: Carriers, look_ups: list[Job],
             constants: Mapping[str, Any], log_end: int) -> None:
    """Say of the page's transactions, in order of start, what their own events do not tell.

    `constants` are the log's: they name Chrome's errors and flags. `log_end` is the tick where the phases of what is
    not over are cut.
    """
    errors = {int(code): f"net::{name}" for name, code in (constants.get("netError") or {}).items()}
    awaited = load_flag(constants, IGNORE_LIMITS)
    look_up_of = {look_up.id: look_up for look_up in look_ups}
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
        hop.error = errors.get(hop.net_error, f"net::{hop.net_error}") if hop.net_error else \
            UNFINISHED if hop.end is None else ""
        hop.initiator = "" if hop.initiator == NO_ORIGIN else hop.initiator
        hop.synchronous = bool(hop.load_flags & awaited)


def _is_a_workers_navigation(hop: HttpTransaction) -> bool:
    """Tell whether a service worker asked for a document that it was asked for: to it Chrome sends no request itself.

    The worker's request is for nothing of its own (Fetch, section 5.4: a new Request has the destination ""); one for
    a frame looks alike, but is for another URL than the page's.
    """
    return (header_in(hop.request_headers, "sec-fetch-mode") == "navigate"
            and header_in(hop.request_headers, "sec-fetch-dest") == "empty")


def _phases(hop: HttpTransaction, fresh: Connection | None, look_up: Job | None, log_end: int) -> Phases:
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
