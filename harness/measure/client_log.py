"""What one page load leaves behind: the log in the 2013 format, the HAR, and its figures for the JSON beside them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from harness.browser.program import CLOCK_SHIFT_MS
from harness.files.exchange import ABORTED, UNFINISHED, UNKNOWN, Fate
from harness.files.har import PageTimes, har_log, to_har
from harness.files.load_parts import UsedConnection
from harness.files.load_record import load_event_of
from harness.files.text_log import format_log
from harness.netlog.load import NetLog
from harness.netlog.page import (
    end_load,
    exchanges,
    leave_out_before,
    leave_out_previous_document,
    moved_on_to,
    of_load,
    page_log,
)
from harness.netlog.silences import silences
from harness.netlog.transactions import HttpTransaction
from harness.system.atomic import write_atomically

ERROR_PAGE = "chrome-error://"
REPORT = "load.json"
"""What load_page.py says of a load, in its directory."""


def write_client_log(directory: Path, page: str, netlog: NetLog, report: dict[str, Any]) -> dict[str, Any]:
    """Write ``<page>`` and ``<page>.har`` into `directory` from Chrome's net-log and what load_page.py saw.

    Returns the load's figures as they stand in its JSON (times in ms from the start of the navigation; None for what is
    not known). `failed_requests` are the failures of requests that began before the load event; not those that are
    unfinished because the page went on loading until our time limit. `last_ms` is the end of the last request that was
    over. A connection is unused when it stood, or was being made, and never carried a request: a preconnect or a
    backup. For `moved_on_to` see harness.netlog.page.
    """
    netlog.clock_shift_ms = CLOCK_SHIFT_MS
    if warm_ms := report.get("warm_ms"):
        leave_out_before(netlog, netlog.tick(warm_ms))
    timing = report.get("timing") or {} if shows_a_page(report) else {}
    start_tick = start_of_load(netlog, report)
    load_event = load_event_of(timing, began_ms=start_tick)
    if report.get("time_origin_ms") and report.get("now_ms"):       # what comes later comes from closing Chrome
        end_load(netlog, netlog.tick(report["time_origin_ms"]) + report["now_ms"])
    leave_out_previous_document(netlog, start_tick)
    found, transactions = exchanges(netlog, start_tick, load_event), of_load(netlog, start_tick)
    write_atomically(directory / page, format_log(page_log(netlog, start_tick)))
    times = PageTimes(netlog.moment(start_tick), *(
        UNKNOWN if (ms := timing.get(name)) is None else ms for name in ("domContentLoadedEventEnd", "loadEventEnd")))
    write_atomically(directory / f"{page}.har", json.dumps(
        har_log(report["url"], [*map(to_har, found)], times, browser=netlog.browser_version)))
    failed = Counter(exchange.error for exchange in found if exchange.error and exchange.fate is not Fate.AFTER_LOAD)
    if report.get("quiet") is False and load_event:
        failed.pop(UNFINISHED, None)
    ends = [transaction.end or 0 for transaction in transactions if transaction.error != UNFINISHED]
    document = _document(transactions, is_shown=bool(timing))
    return {
        "plt_ms": timing.get("loadEventEnd") or None,
        "last_ms": max(ends) - start_tick if ends else None,
        "first_byte_ms": timing.get("responseStart") or None,
        "dom_content_loaded_ms": timing.get("domContentLoadedEventEnd") or None,
        "navigation_timing": timing,
        "document": {"url": document.url, "status": document.status, "bytes": document.content_bytes}
                    if document else None,
        "requests": len(found),
        "request_urls": [transaction.url for transaction in transactions],
        "failed_requests": dict(failed),
        "bytes": sum(transaction.body_bytes for transaction in transactions),
        "connections": msgspec.to_builtins(_connections(netlog, start_tick)),
        "silences": msgspec.to_builtins(silences(netlog, start_tick, load_event.end_ms)) if load_event else [],
        "preconnects_unused": sum(not (connection.requests or connection.error) for connection in netlog.connections),
        "left_out": dict(netlog.left_out),
        "log_problems": netlog.problems,
        "moved_on_to": moved_on_to(netlog, report.get("asked_as", report["url"]), start_tick),
    }


def shows_error_page(report: dict[str, Any]) -> bool:
    """Tell whether Chrome shows its own error page instead of the page. An error page loads fast."""
    return str(report.get("document_uri")).startswith(ERROR_PAGE)


def shows_a_page(report: dict[str, Any]) -> bool:
    """Tell whether Chrome shows a page of the web.

    Until the page's server has answered, Chrome shows an empty page of its own (data:,). That page has a load event
    and a time for it, too, which must not be taken for the page's.
    """
    return str(report.get("document_uri")).startswith(("http://", "https://"))


def start_of_load(netlog: NetLog, report: dict[str, Any]) -> float:
    """Return the tick of navigationStart, or that of the first request when the page could not be asked for it."""
    if report.get("time_origin_ms") and shows_a_page(report):
        return netlog.tick(report["time_origin_ms"])
    return netlog.transactions[0].start if netlog.transactions else netlog.end_tick


def _document(transactions: list[HttpTransaction], *, is_shown: bool) -> HttpTransaction | None:
    """Return the document of a load, the last one where no page is shown.

    The load begins with the navigation to the document that is shown: a later one shows nothing (a file, a 204). But
    where an answer of https asks for client hints that the request lacked (Critical-CH), Chrome drops it and asks once
    more, within the same navigation (content/browser/client_hints/critical_client_hints_throttle.cc).
    """
    asked = [transaction for transaction in transactions if transaction.main_frame]
    documents = [document for place, document in enumerate(asked) if not document.redirect_url and not (
        document.error == ABORTED and any(later.url == document.url for later in asked[place + 1:]))]
    return next(iter(documents if is_shown else reversed(documents)), None)


def _connections(netlog: NetLog, start_tick: float) -> list[UsedConnection]:
    """Return the connections that carried a request; times in ms from the start of the load."""
    return [UsedConnection(
        connection.id, connection.address, connection.start - start_tick, connection.connect_ms, connection.requests,
        quic=connection.quic, early=connection.early, asked_late=connection.asked_late,
        sent_again=connection.sent_again, answered=bool(connection.received) or connection.quic)
        for connection in netlog.connections if connection.requests]
