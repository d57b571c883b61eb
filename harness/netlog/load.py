"""What Chrome's net-log says, read whole: transactions, look-ups, connections, and what failed.

    netlog = read_netlog(Path("netlog.json"))
    start_tick = netlog.tick(navigation_start_unix_ms)          # the real one (harness.browser.page.TIME_ORIGIN)
    # harness.netlog.page makes of it a load's exchanges and its log.

A transaction is one request and its answer; a request with a redirect is one transaction per hop. Only the page's own
count: of its frames and workers, over http or https. What Chrome asks for itself (its start page, clock, updates,
accounts) and what needs no network (data:, blob:, chrome:) is left out and counted in `left_out`. Ticks are ms of
Chrome's monotonic clock.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

from harness.errors import ExperimentError
from harness.files.exchange import H2, UNFINISHED, UNKNOWN, Phases
from harness.files.headers import header_in
from harness.files.moments import moment_at
from harness.netlog.carriers import Carriers, Connections
from harness.netlog.connections import Connection, Job, host_and_port
from harness.netlog.file import Subscriber, read_netlog_file
from harness.netlog.requests import Requests
from harness.netlog.transactions import PREFETCH, SAFE, HttpTransaction, load_flag

ONLY_IF_CACHED = "asked of the cache only"
NAME_NOT_RESOLVED = -105
"""net::ERR_NAME_NOT_RESOLVED: in a laboratory what Chrome's start page gets, whose host no resolver rule maps."""
CACHE_MISS = -400
"""net::ERR_CACHE_MISS: what the cache alone was asked for (fetch's only-if-cached) it had not; nothing was sent."""


@dataclass
class NetLog:
    """One net-log. `transactions` are in order of start, `connections` too. `left_out` counts requests by reason.

    `clock_shift_ms` is what Chrome's wall clock was ahead of the true one. `end_tick` is the last event's. `problems`
    are one line each: ``file:line: problem``.
    """

    transactions: list[HttpTransaction] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    look_ups: list[Job] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    time_offset_ms: float = 0.0
    clock_shift_ms: float = 0.0
    browser_version: str = ""
    end_tick: int = 0
    problems: list[str] = field(default_factory=list)

    def tick(self, unix_ms: float) -> float:
        """Return the tick of a Unix time in ms, as Chrome itself saw the time (navigation timing, Date.now())."""
        return unix_ms - self.time_offset_ms

    def moment(self, tick: float) -> datetime:
        """Return when a tick was by a true clock, to whole ms."""
        return moment_at(tick + self.time_offset_ms - self.clock_shift_ms)


def read_netlog(path: Path, *others: Subscriber[Any], is_over: Callable[[], bool] | None = None) -> NetLog:
    """Read a net-log file, complete or cut off; `others` get their events by the way. Bodies, which may be large, are
    kept where it has them.

    If there is `is_over`, Chrome is still writing it, until that says that it is not.

    A request is kept when a page's origin made it, whatever its host (so a name that is not mapped shows as a failure),
    and so is a navigation of the main frame unless its host has no address: that is Chrome's start page.

    Raises ExperimentError when there is no such file, and for one that is none of Chrome's.
    """
    requests, wires = Requests(), Connections()
    netlog = NetLog()
    try:
        constants, netlog.end_tick = read_netlog_file(path, requests, *wires.subscribers, *others,
                                                      problems=netlog.problems, is_over=is_over)
        _select(netlog, requests, wires, constants)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:     # events that make no sense are skipped
        raise ExperimentError(f"{path}:1: its constants are none of Chrome's ({error}); try again") from None
    return netlog


def _select(netlog: NetLog, requests: Requests, wires: Connections, constants: Mapping[str, Any]) -> None:
    """Put what is the page's into the net-log, and count what is not."""
    netlog.time_offset_ms = float(constants.get("timeTickOffset", 0))
    netlog.browser_version = str((constants.get("clientInfo") or {}).get("version", ""))
    ahead, not_ours = load_flag(constants, PREFETCH), set[int]()
    for request in requests.found.values():
        for hop in request.hops:
            hop.main_frame = hop.main_frame and not hop.load_flags & ahead
        if reason := _why_left_out(request.hops):
            netlog.left_out[reason] += max(1, len(request.hops))
            not_ours |= {job for hop in request.hops for job in (*hop.sent_by, hop.job) if job}
        else:
            netlog.transactions += request.hops
    netlog.transactions.sort(key=attrgetter("start"))
    connections, carriers, look_ups = wires.read()
    _complete(netlog.transactions, carriers, look_ups, constants, netlog.end_tick)
    netlog.connections = [connection for connection in connections
                          if connection.requests or not not_ours.intersection(connection.jobs)]
    names = {host_and_port(hop.url) for hop in netlog.transactions}
    netlog.look_ups = [look_up for look_up in look_ups if look_up.name in names]


def _why_left_out(hops: list[HttpTransaction]) -> str:
    """Return why a request is not the page's, "" when it is."""
    if not hops:
        return "never started"
    first, scheme = hops[0], hops[0].url.partition(":")[0]
    if scheme not in ("http", "https"):
        return f"{scheme}:"
    is_start_page = first.main_frame and first.net_error == NAME_NOT_RESOLVED
    if is_start_page or not (first.initiator or first.main_frame):
        return "Chrome's own"
    if hops[-1].net_error == CACHE_MISS and not any(hop.sends for hop in hops):
        return ONLY_IF_CACHED
    return ""


IGNORE_LIMITS = "IGNORE_LIMITS"
"""The flag of requests that a page's thread waits for: none of Chrome's limits may hold them back, or it would stand
still for ever (Chromium's net/base/load_flags_list.h)."""


def _complete(hops: list[HttpTransaction], carriers: Carriers, look_ups: list[Job],
             constants: Mapping[str, Any], log_end: int) -> None:
    """Say of the page's transactions, in order of start, and of their connections what their own events do not tell.

    `constants` are the log's: they name Chrome's errors and flags. `log_end` is the tick where the phases of what is
    not over are cut.
    """
    errors = {int(code): f"net::{name}" for name, code in (constants.get("netError") or {}).items()}
    awaited = load_flag(constants, IGNORE_LIMITS)
    look_up_of = {look_up.id: look_up for look_up in look_ups}
    shown: set[str] = set()
    answered: dict[tuple[str, bool], HttpTransaction] = {}
    for hop in hops:
        for used in filter(None, (carriers.get((job, hop.version == H2)) for job in hop.sent_by)):
            used.requests += 1
            if hop.method in SAFE and hop.send_end is not None:
                used.first_asked = min(hop.send_end, used.first_asked or hop.send_end)
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
        hop.connection, hop.phases = connection, _phases(hop, fresh, look_up, log_end)
        hop.error = errors.get(hop.net_error, f"net::{hop.net_error}") if hop.net_error else \
            UNFINISHED if hop.end is None else ""
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

    def waited(span: tuple[int, int] | None) -> float:
        """Return for how much of a span it waited before it was sent."""
        return float(max(0, min(span[1], before) - max(span[0], hop.start)) if span else UNKNOWN)

    dns = connect = ssl = float(UNKNOWN)
    ready = None if fresh is None else fresh.ssl[1] if fresh.ssl else fresh.connected
    if fresh is not None and ready is not None and ready >= hop.start:      # its TCP may have stood before
        dns = waited((look_up.start, look_up.end) if look_up else None)
        connect, ssl = waited((fresh.start, ready)), waited(fresh.ssl)
    blocked = before - hop.start - max(dns, 0.0) - max(connect, 0.0)
    return Phases(float(blocked), dns, connect, ssl, float(sent - before), float(head - sent), float(end - head))
