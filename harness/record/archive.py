"""A recorded page as HAR.

What it says beyond harness.netlog.har: httpVersion is "h2" where that was spoken, also of answers from the cache;
`_file` (``host/file`` in the mirror) is the body of exactly this answer, still content-encoded; `_partial` is true when
only its beginning came (then `_error` says why), `_refetched` when requests, not Chrome, brought it.
harness.mirror.har reads them.
"""

import base64
from typing import Any

from harness.browser.chrome import CLOCK_SHIFT_DAYS
from harness.files.har import H2
from harness.netlog.har import UNKNOWN, har, over_http2
from harness.record.page import CapturedExchange, PageRecording

DAY_MS = 86_400_000.0
TIMINGS = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def to_har(recording: PageRecording) -> dict[str, Any]:
    """Return the HAR of a page whose bodies are stored already: `PageRecording.write` says where they are."""
    visit, netlog, timing = recording.visit, recording.netlog, recording.visit.timing
    shift_ms = netlog.tick(visit.time_origin_ms) - recording.start_tick if visit.time_origin_ms else 0.0
    archive = har(netlog, recording.url, recording.start_tick, end_tick=visit.end_tick,
                  on_content_load_ms=_after(timing.get("domContentLoadedEventEnd"), shift_ms),
                  on_load_ms=_after(timing.get("loadEventEnd"), shift_ms),
                  clock_shift_ms=CLOCK_SHIFT_DAYS * DAY_MS if recording.brought_from else 0.0,
                  comment=f"recorded by fetch.py as {visit.user_agent}")
    spoken_h2 = {_tls_host(exchange) for exchange in recording.exchanges if over_http2(exchange.transaction)}
    for entry, exchange in zip(archive["log"]["entries"], recording.exchanges, strict=True):
        _complete(entry, exchange)
        if _tls_host(exchange) in spoken_h2 and exchange.status:
            _complete_h2(entry, exchange)
    if recording.brought_from:
        _leave_out_times(archive["log"], recording)
    return archive


def _complete(entry: dict[str, Any], exchange: CapturedExchange) -> None:
    """Add to a HAR entry what harness.netlog.har does not know."""
    fetched = exchange.refetched
    response = entry["response"]
    if exchange.whole:
        entry.pop("_error", None)
    if exchange.sent:
        entry["request"]["postData"] = _posted(exchange)
    if fetched:
        entry["_refetched"] = True
        response["content"]["size"] = UNKNOWN
        response["content"].pop("compression", None)
        if not exchange.transaction.status:
            response |= {"status": fetched.status, "statusText": fetched.reason,
                         "headers": [{"name": name, "value": value} for name, value in fetched.headers]}
        response["bodySize"] = len(fetched.body)
    if exchange.file:
        entry["_file"] = exchange.file
    if not exchange.whole:
        entry["_partial"] = True
    if exchange.note:
        entry["comment"] = exchange.note


def _posted(exchange: CapturedExchange) -> dict[str, str]:
    """Return a request's body as HAR has it; harness.mirror.har reads it."""
    mime_type = next((value for name, value in exchange.transaction.request_headers
                      if name.lower() == "content-type"), "")
    try:
        return {"mimeType": mime_type, "text": exchange.sent.decode("utf-8")}
    except UnicodeDecodeError:
        return {"mimeType": mime_type, "text": base64.b64encode(exchange.sent).decode(), "_encoding": "base64"}


def _complete_h2(entry: dict[str, Any], exchange: CapturedExchange) -> None:
    """Name the protocol: of an answer from the cache, say, the net-log does not."""
    entry["response"]["httpVersion"] = H2
    if not exchange.transaction.from_cache:
        entry["request"]["httpVersion"] = H2


def _leave_out_times(log: dict[str, Any], recording: PageRecording) -> None:
    """Say of a page that others recorded when, and over which protocol, each answer came, and no times."""
    log["comment"] = f"brought by fetch.py from {recording.brought_from}; how long anything took is unknown"
    log["pages"][0]["pageTimings"] = {"onContentLoad": UNKNOWN, "onLoad": UNKNOWN}
    captured = [exchange.archived.captured for exchange in recording.exchanges
                if exchange.archived is not None and exchange.archived.captured is not None]
    first = min(captured).isoformat(timespec="milliseconds") if captured else log["pages"][0]["startedDateTime"]
    log["pages"][0]["startedDateTime"] = first
    for entry, exchange in zip(log["entries"], recording.exchanges, strict=True):
        entry["time"], entry["timings"] = 0, dict.fromkeys(TIMINGS, UNKNOWN)
        for name in ("serverIPAddress", "connection", "_connectionId"):
            entry.pop(name, None)
        answer = exchange.archived
        entry["startedDateTime"] = first
        if answer is not None and answer.captured is not None:
            entry["startedDateTime"] = answer.captured.isoformat(timespec="milliseconds")
        if answer is not None and answer.protocol:
            entry["request"]["httpVersion"] = entry["response"]["httpVersion"] = answer.protocol


def _tls_host(exchange: CapturedExchange) -> str:
    """Return host and port of an https URL, "" for http."""
    return exchange.url.split("/", 3)[2] if exchange.url.startswith("https:") else ""


def _after(time_ms: float | None, shift_ms: float) -> float | None:
    return time_ms + shift_ms if time_ms else None
