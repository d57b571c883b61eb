"""What Chrome's net-log says about one page load: transactions, look-ups, connections, and what failed.

    netlog = read_netlog(Path("netlog.json"))
    start_tick = netlog.tick(navigation_start_unix_ms)          # the real one (harness.browser.page.TIME_ORIGIN)
    log = page_log(netlog, start_tick)                          # the 2013 text format, see harness.files.text_log
    found = exchanges(netlog, start_tick)                       # harness.netlog.har; in a HAR: har(netlog, ...)

A transaction is one request and its answer; a request with a redirect is one transaction per hop. Only the page's own
count: of its frames and workers, over http or https. What Chrome asks for itself (its start page, clock, updates,
accounts) and what needs no network (data:, blob:, chrome:) is left out and counted in `left_out`. Ticks are ms of
Chrome's monotonic clock.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.files.exchange import UNFINISHED
from harness.files.har import H2
from harness.files.headers import header_in
from harness.files.text_log import PageLog, Resolve, Response, Transaction
from harness.netlog.carriers import Carriers, Connections
from harness.netlog.connections import Connection, NameResolution, host_and_port
from harness.netlog.file import Subscriber, read_netlog_file, written
from harness.netlog.requests import NO_ORIGIN, PREFETCH, SAFE, HttpTransaction, Requests, load_flag
from harness.netlog.transactions import complete

PREVIOUS_DOCUMENT = "of the document that was replaced"
ONLY_IF_CACHED = "asked of the cache only"
CACHE_MISS = -400
"""net::ERR_CACHE_MISS: what the cache alone was asked for (fetch's only-if-cached) it had not; nothing was sent."""
REPORTS = "application/reports+json"
"""What Chrome itself sends some time later where an answer's headers ask for reports (Reporting API). Replays do not
ask for them (harness.mirror.headers)."""
SLACK_MS = 5
"""By how much a transaction may seem to begin before its load does: Chrome's clocks are rounded apart."""


@dataclass
class NetLog:
    """One net-log. `transactions` are in order of start, `connections` too. `left_out` counts requests by reason.

    `end_tick` is the last event's. `problems` are one line each: ``file:line: problem``.
    """

    transactions: list[HttpTransaction] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    look_ups: list[NameResolution] = field(default_factory=list)
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
                is_over: Callable[[], bool] = written) -> NetLog:
    """Read a net-log file, complete or cut off; `others` get their events by the way. Bodies may be large.

    Chrome may still be writing it, until `is_over` says that it is not.

    A request is kept when a page's origin made it, whatever its host (so a name that is not mapped shows as a failure);
    a navigation of the main frame is kept unless the log's own --host-resolver-rules lead its host nowhere, which is
    how Chrome's start page is told from the page.

    Raises ExperimentError when there is no such file.
    """
    requests, wires = Requests(keep_bodies=keep_bodies), Connections()
    log = read_netlog_file(path, requests, *wires.subscribers, *others, is_over=is_over)
    client = log.constants.get("clientInfo") or {}
    netlog = NetLog(time_offset_ms=float(log.constants.get("timeTickOffset", 0)), end_tick=log.end_tick,
                    browser_version=str(client.get("version", "")), problems=log.problems)
    rules = _mapped_names(str(client.get("command_line", "")))
    kept, left_out_jobs = _keep(requests, load_flag(log.constants, PREFETCH), rules, netlog.left_out)
    connections, carriers, look_ups = wires.read()
    _note_requests(kept, carriers)
    netlog.connections = [connection for connection in connections
                          if connection.requests or not left_out_jobs.intersection(connection.jobs)]
    names = {host_and_port(hop.url) for hop in kept}
    netlog.look_ups = [look_up for look_up in look_ups if look_up.name in names]
    complete(kept, carriers, netlog.look_ups, log.constants, log.end_tick)
    netlog.transactions = kept
    return netlog


def page_log(netlog: NetLog, start_tick: float, end_tick: float | None = None) -> PageLog:
    """Return the load that began at `start_tick` as a log in the 2013 format, times in ms from it.

    Transactions are in order of completion; what was not over at `end_tick` (default: when the log ended) is in
    `problems` instead. Every transaction with the head of an answer has a response. Of each name the first look-up is
    given.
    """
    asked = of_load(netlog, start_tick, end_tick)
    over = sorted((each for each in asked if not cut_off(each, end_tick)), key=lambda each: each.end or 0)
    first: dict[str, NameResolution] = {}
    for look_up in netlog.look_ups:
        first.setdefault(look_up.name, look_up)
    return PageLog(
        [Resolve(each.start - start_tick, each.end - start_tick, each.error, each.name, " ".join(each.addresses))
         for each in first.values()],
        [Transaction(each.start - start_tick, (each.end or 0) - start_tick, each.url) for each in over],
        [Response(each.status_text, each.mime_type, each.charset, each.url, each.redirect_url)
         for each in over if each.status],
        transactions_seen=bool(asked), problems=[*netlog.problems, *(
            f"{each.url}: not over when the load ended" for each in asked if cut_off(each, end_tick))])


def of_load(netlog: NetLog, start_tick: float, end_tick: float | None = None) -> list[HttpTransaction]:
    """Return the transactions that began in the load, in order of start. SLACK_MS allows for rounding."""
    return [transaction for transaction in netlog.transactions
            if transaction.start >= start_tick - SLACK_MS and (end_tick is None or transaction.start <= end_tick)]


def leave_out_previous_document(netlog: NetLog, start_tick: float) -> None:
    """Move to `left_out` what a document asked for that was being replaced when the load at `start_tick` began.

    A page that loads itself anew (location.reload()) lives on until the new document's head is there, and how much it
    still asks for is a race. The new document can ask for nothing before its own head, or what hints came before it.
    """
    document = next((transaction for transaction in of_load(netlog, start_tick)
                     if transaction.main_frame and not transaction.redirect_url), None)
    if document is None:
        return
    head_tick = first_word(document) - SLACK_MS
    kept = [transaction for transaction in netlog.transactions
            if transaction.main_frame or not start_tick - SLACK_MS <= transaction.start < head_tick]
    if len(kept) < len(netlog.transactions):
        netlog.left_out[PREVIOUS_DOCUMENT] += len(netlog.transactions) - len(kept)
        netlog.transactions = kept


def leave_out_before(netlog: NetLog, tick: float) -> None:
    """Leave out what began before `tick`: another visit of the page."""
    netlog.transactions = [transaction for transaction in netlog.transactions if transaction.start >= tick]
    netlog.connections = [connection for connection in netlog.connections if connection.start >= tick]
    netlog.look_ups = [look_up for look_up in netlog.look_ups if look_up.start >= tick]


def first_word(document: HttpTransaction) -> float:
    """Return when a document, or hints for it, began to arrive, in ticks: nothing asked for its parts before."""
    return document.start + document.phases.until_head if document.hinted is None else float(document.hinted)


def cut_off(transaction: HttpTransaction, end_tick: float | None) -> bool:
    """Return whether `transaction` was not over at `end_tick` (None: when the log ended)."""
    return transaction.end is None or (end_tick is not None and transaction.end > end_tick)


def error_of(transaction: HttpTransaction, end_tick: float | None) -> str:
    """Return what went wrong with a request until `end_tick`, "" for nothing."""
    return UNFINISHED if cut_off(transaction, end_tick) else transaction.error


def _mapped_names(command_line: str) -> list[str] | None:
    """Return the host patterns that --host-resolver-rules maps, None when other names can be resolved too."""
    match = re.search(r"--host-resolver-rules=(.*?)(?= --|$)", command_line)
    if match is None:
        return None
    rules = [rule.split() for rule in match[1].strip("\"'").split(",")]
    if not any(rule[:3] == ["MAP", "*", "~NOTFOUND"] for rule in rules):
        return None
    return [rule[1].rpartition(":")[0] or rule[1] for rule in rules if len(rule) == 3 and rule[2] != "~NOTFOUND"]


def _keep(requests: Requests, ahead: int, mapped: list[str] | None,
          left_out: Counter[str]) -> tuple[list[HttpTransaction], set[int]]:
    """Return the page's hops in order of start and the stream jobs of those left out; count the latter by reason.

    `ahead` is the flag of what is fetched for a page that may come later.
    """
    kept: list[HttpTransaction] = []
    jobs: set[int] = set()
    each = [request.hops for request in requests.found.values()]
    for hop in (hop for hops in each for hop in hops):
        hop.main_frame = hop.main_frame and not hop.load_flags & ahead
    reported_to = {hops[0].url for hops in each if hops and _content_type(hops[0]) == REPORTS}
    for hops in each:
        reason = _why_left_out(hops, mapped, reported_to)
        if reason:
            left_out[reason] += max(1, len(hops))
            jobs.update(job for hop in hops for job in (*hop.sent_by, hop.job))
        else:
            kept += hops
    jobs.discard(0)
    return sorted(kept, key=lambda hop: hop.start), jobs


def _content_type(hop: HttpTransaction) -> str:
    return header_in(hop.request_headers, "content-type")


def _why_left_out(hops: list[HttpTransaction], mapped: list[str] | None, reported_to: set[str]) -> str:
    """Return why a request is not the page's, "" when it is."""
    if not hops:
        return "never started"
    try:
        parts = urlsplit(hops[0].url)
        host = parts.hostname or ""
    except ValueError:
        return "no URL"
    if parts.scheme not in ("http", "https"):
        return f"{parts.scheme}:"
    is_report = _content_type(hops[0]) == REPORTS or (hops[0].method == "OPTIONS" and hops[0].url in reported_to)
    if is_report or (hops[0].initiator == NO_ORIGIN and not hops[0].main_frame):
        return "Chrome's own"
    if hops[-1].net_error == CACHE_MISS and not any(hop.sends for hop in hops):
        return ONLY_IF_CACHED
    if hops[0].main_frame and mapped is not None and not any(fnmatch(host, pattern) for pattern in mapped):
        return "Chrome's own"
    return ""


def _note_requests(hops: list[HttpTransaction], carriers: Carriers) -> None:
    for hop in hops:
        for job in hop.sent_by:
            connection = carriers.get((job, hop.version == H2))
            if connection is not None:
                connection.requests += 1
                if hop.method in SAFE and hop.send_end is not None:
                    connection.first_asked = min(hop.send_end, connection.first_asked or hop.send_end)
