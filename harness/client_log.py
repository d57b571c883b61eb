"""What one page load leaves behind: the log in the 2013 format, the HAR, and its figures for the JSON beside them."""

import json
from pathlib import Path
from typing import Any

from harness.atomic import write_atomically
from harness.browser import CLOCK_SHIFT_DAYS
from harness.har import har
from harness.logs import format_log
from harness.netlog import NetLog, leave_out_previous_document, of_load, page_log, read_netlog, summarise

ERROR_PAGE = "chrome-error://"
MS_PER_DAY = 86_400_000


def write_client_log(directory: Path, page: str, netlog_file: Path, report: dict[str, Any]) -> dict[str, Any]:
    """Write ``<page>`` and ``<page>.har`` into `directory` from Chrome's net-log and what load_page.py saw.

    Returns the load's figures (times in ms from the start of the navigation), None where they are unknown.
    """
    netlog = read_netlog(netlog_file)
    timing = report.get("timing") or {} if shows_a_page(report) else {}
    start_tick = start_of_load(netlog, report)
    leave_out_previous_document(netlog, start_tick)
    end_tick = None                 # what came later came from closing Chrome
    if report.get("time_origin_ms") and report.get("now_ms"):
        end_tick = netlog.tick(report["time_origin_ms"]) + report["now_ms"]
    write_atomically(directory / page, format_log(page_log(netlog, start_tick, end_tick)))
    archive = har(netlog, report["url"], start_tick, end_tick=end_tick, clock_shift_ms=CLOCK_SHIFT_DAYS * MS_PER_DAY,
                  on_content_load_ms=timing.get("domContentLoadedEventEnd"), on_load_ms=timing.get("loadEventEnd"))
    write_atomically(directory / f"{page}.har", json.dumps(archive))
    return figures(netlog, start_tick, end_tick, timing)


def shows_error_page(report: dict[str, Any]) -> bool:
    """Tell whether Chrome shows a page of its own about an error. That page loads fast, and is not the page."""
    return str(report.get("document_uri")).startswith(ERROR_PAGE)


def shows_a_page(report: dict[str, Any]) -> bool:
    """Tell whether Chrome shows a page of the web. While none has answered it still shows its own empty one (data:,).

    That one has a load event too, and a time for it, which is not the page's.
    """
    return str(report.get("document_uri")).startswith(("http://", "https://"))


def start_of_load(netlog: NetLog, report: dict[str, Any]) -> float:
    """Return the tick of navigationStart; of the first request when the page could not be asked."""
    if report.get("time_origin_ms") and shows_a_page(report):
        return netlog.tick(report["time_origin_ms"])
    return netlog.transactions[0].start if netlog.transactions else netlog.end_tick


def figures(netlog: NetLog, start_tick: float, end_tick: float | None, timing: dict[str, Any]) -> dict[str, Any]:
    """Return a load's figures as they stand in its JSON."""
    summary = summarise(netlog, start_tick, end_tick)
    transactions = of_load(netlog, start_tick, end_tick)
    documents = [one for one in transactions if one.main_frame and not one.redirect_url]
    return {
        "plt_ms": timing.get("loadEventEnd") or None,
        "last_ms": summary.last_ms,
        "first_byte_ms": timing.get("responseStart") or None,
        "dom_content_loaded_ms": timing.get("domContentLoadedEventEnd") or None,
        "navigation_timing": timing,
        "document": {"url": documents[-1].url, "status": documents[-1].status,
                     "bytes": documents[-1].content_bytes} if documents else None,
        "requests": summary.requests,
        "request_urls": [one.url for one in transactions],
        "failed_requests": summary.failed,
        "bytes": summary.bytes,
        "connections": [{"id": one.id, "address": one.address, "start_ms": one.start - start_tick,
                         "connect_ms": one.connect_ms, "requests": one.requests}
                        for one in netlog.connections if one.requests],
        "preconnects_unused": summary.connections_unused,
        "left_out": summary.left_out,
        "log_problems": netlog.problems,
    }
