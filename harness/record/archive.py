"""A recorded page as HAR.

What it says beyond harness.files.har: httpVersion is "h2" where that was spoken, also of answers from the cache;
`_file` (``host/file`` in the mirror) is the body of exactly this answer, still content-encoded; `_partial` is true when
only its beginning came (then `_error` says why), `_afterLoad` when
it was asked for after the load event, `_beforeDocument` when by a document that the page's own took the place of;
`_arrivals` is when how much had come of a stream, or of an answer that its server sent with pauses
(harness.netlog.pauses), and `_webSocketMessages` what a WebSocket said (harness.mirror.live);
`_afterMessage` is whether, of a page that others recorded, whose answers keep the dates that they had there, it was
asked for after a WebSocket first told the page something; `_connectMs` is how long the TCP handshake took of the
connection it went over. harness.files.har reads them.
"""

import base64
from typing import Any

from wsproto.frame_protocol import Opcode

from harness.browser.program import CLOCK_SHIFT_MS
from harness.files.exchange import UNKNOWN
from harness.files.har import H2, date_of, over_http2
from harness.mirror.live import Arrivals
from harness.netlog.har import har
from harness.netlog.load import NetLog
from harness.netlog.websockets import Message, WebSocket
from harness.record.page import CapturedExchange, PageRecording

STEP_MS = 5.0
TIMINGS = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def to_har(recording: PageRecording) -> dict[str, Any]:
    """Return the HAR of a page whose bodies are stored already: `PageRecording.write` says where they are."""
    visit, netlog, timing = recording.visit, recording.netlog, recording.visit.timing
    shift_ms = netlog.tick(visit.time_origin_ms) - recording.start_tick if visit.time_origin_ms else 0.0
    archive = har(netlog, recording.url, recording.start_tick, end_tick=visit.end_tick, load_event=recording.load_event,
                  on_content_load_ms=_after(timing.get("domContentLoadedEventEnd"), shift_ms),
                  on_load_ms=_after(timing.get("loadEventEnd"), shift_ms),
                  clock_shift_ms=CLOCK_SHIFT_MS if recording.brought_from else 0.0,
                  comment=f"recorded by fetch.py as {visit.user_agent}")
    connect_ms = {connection.id: connection.connect_ms for connection in netlog.connections}
    spoken_h2 = {_tls_host(exchange) for exchange in recording.exchanges if over_http2(exchange.transaction)}
    for entry, exchange in zip(archive["log"]["entries"], recording.exchanges, strict=True):
        _complete(entry, exchange)
        if _tls_host(exchange) in spoken_h2 and exchange.status:
            _complete_h2(entry, exchange)
    for entry, exchange in zip(archive["log"]["entries"], recording.exchanges, strict=True):
        if recording.is_of_replaced(exchange):
            entry["_beforeDocument"] = True
        if (tcp_ms := connect_ms.get(exchange.transaction.connection or 0)) is not None:
            entry["_connectMs"] = tcp_ms
        if exchange.head_bytes and exchange.transaction.status:
            entry["response"]["_headBytes"] = exchange.head_bytes
        if exchange.arrivals or exchange.pieces:
            entry["_arrivals"] = _in_steps(exchange.arrivals or exchange.pieces)
    shift_ms = CLOCK_SHIFT_MS if recording.brought_from else 0.0
    archive["log"]["entries"] += [_websocket_entry(websocket, netlog, shift_ms) for websocket in recording.websockets]
    if recording.brought_from:
        _leave_out_times(archive["log"], recording)
    return archive


def _complete(entry: dict[str, Any], exchange: CapturedExchange) -> None:
    """Add to a HAR entry what harness.files.har does not know."""
    if exchange.whole:
        entry.pop("_error", None)
    if exchange.sent:
        entry["request"]["postData"] = _posted(exchange)
    if exchange.file:
        entry["_file"] = exchange.file
    if not exchange.whole:
        entry["_partial"] = True
    if exchange.note:
        entry["comment"] = exchange.note


def _posted(exchange: CapturedExchange) -> dict[str, str]:
    """Return a request's body as HAR has it; harness.files.har.posted_body reads it."""
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


def _in_steps(arrivals: Arrivals) -> list[list[float]]:
    """Return when how much of an answer had come, in steps of STEP_MS."""
    steps: list[list[float]] = []
    for time_ms, size in arrivals:
        if steps and time_ms - steps[-1][0] < STEP_MS:
            steps[-1][1] = size
        else:
            steps.append([time_ms, size])
    return steps


def _websocket_entry(websocket: WebSocket, netlog: NetLog, clock_shift_ms: float) -> dict[str, Any]:
    """Return a WebSocket as Chrome's DevTools write it; harness.mirror.live reads it. `clock_shift_ms` is what Chrome's
    clock was ahead of the true one.
    """
    wait_ms = float(websocket.opened_tick - websocket.asked_tick)
    headers = [[{"name": name, "value": value} for name, value in pairs]
               for pairs in (websocket.request_headers, websocket.response_headers)]
    messages = [{"type": "receive" if message.received else "send",
                 "time": (netlog.unix_ms(message.tick) - clock_shift_ms) / 1000, "opcode": message.opcode,
                 "data": _text_of(message)} for message in websocket.messages]
    asked = date_of(netlog.unix_ms(websocket.asked_tick) - clock_shift_ms)
    return {"pageref": "page_1", "startedDateTime": asked, "time": wait_ms,
            "request": {"method": "GET", "url": websocket.url, "httpVersion": "HTTP/1.1", "cookies": [],
                        "headers": headers[0], "queryString": [], "headersSize": UNKNOWN, "bodySize": 0},
            "response": {"status": websocket.status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [],
                         "headers": headers[1], "content": {"size": 0, "mimeType": ""}, "redirectURL": "",
                         "headersSize": UNKNOWN, "bodySize": 0},
            "cache": {}, "timings": {"send": 0, "wait": wait_ms, "receive": 0}, "_resourceType": "websocket",
            "_webSocketMessages": messages}


def _text_of(message: Message) -> str:
    return (base64.b64encode(message.data) if message.opcode == Opcode.BINARY else message.data).decode()


def _leave_out_times(log: dict[str, Any], recording: PageRecording) -> None:
    """Say of a page that others recorded when, and over which protocol, each answer came, and no times but those of the
    handshake and of the wait, where the source has them."""
    log["comment"] = f"brought by fetch.py from {recording.brought_from}; how long anything took is unknown"
    log["pages"][0]["pageTimings"] = {"onContentLoad": UNKNOWN, "onLoad": UNKNOWN}
    captured = [exchange.archived.started for exchange in recording.exchanges
                if exchange.archived is not None and exchange.archived.started is not None]
    first = min(captured).isoformat(timespec="milliseconds") if captured else log["pages"][0]["startedDateTime"]
    log["pages"][0]["startedDateTime"] = first
    told_tick = min((message.tick for websocket in recording.websockets for message in websocket.messages
                     if message.received), default=None)
    for entry, exchange in zip(log["entries"], recording.exchanges, strict=False):     # then come WebSockets
        if told_tick is not None:
            entry["_afterMessage"] = exchange.transaction.start > told_tick
        entry["time"], entry["timings"] = 0, dict.fromkeys(TIMINGS, UNKNOWN)
        for name in ("serverIPAddress", "connection", "_connectionId", "_connectMs"):
            entry.pop(name, None)
        entry["response"].pop("_headBytes", None)
        answer = exchange.archived
        entry["startedDateTime"] = first
        if answer is None:
            continue
        if answer.started is not None:
            entry["startedDateTime"] = answer.started.isoformat(timespec="milliseconds")
        if answer.handshake_ms is not None:
            entry["_connectMs"] = answer.handshake_ms
        entry["timings"]["wait"] = answer.phases.wait
        if answer.answer.protocol:
            entry["request"]["httpVersion"] = entry["response"]["httpVersion"] = answer.answer.protocol


def _tls_host(exchange: CapturedExchange) -> str:
    """Return host and port of an https URL, "" for http."""
    return exchange.url.split("/", 3)[2] if exchange.url.startswith("https:") else ""


def _after(time_ms: float | None, shift_ms: float) -> float | None:
    return time_ms + shift_ms if time_ms else None
