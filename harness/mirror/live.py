"""Live connections of a recording: WebSockets with their messages, and streams of events with their times.

A WebSocket stands in a page's HAR as Chrome's DevTools write it: an entry for a ``ws:`` or ``wss:`` URL whose
`_webSocketMessages` are {"type": "send" or "receive", "time": s since the epoch, "opcode": 1 text, 2 binary (base64),
8 close (the code), "data": text}. An answer that stays open has `_arrivals`: [ms since its head, bytes so far] each. So
has one with an end that its server sent with pauses: of it nothing is left out.

What came after the recorded load event is left out. In a replay (at a longer round trip, say) it could come before the
load event, and the load would then wait for something that the recorded page did not wait for.

Anybody may have written such a HAR: nonsense is left out, and no pause is longer than LONGEST_MS.
"""

import base64
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import accumulate
from typing import Any

from wsproto.frame_protocol import Opcode

from harness.files.headers import EVENT_STREAM, header_in, headers_of_har
from harness.files.moments import moment_of

MESSAGES = "_webSocketMessages"
HTTP_SCHEMES = {"ws": "http", "wss": "https"}
"""A WebSocket's scheme -> that of the port it uses."""
Arrivals = tuple[tuple[float, int], ...]
"""When, in ms since an answer's head, how many bytes of its body had come."""
REFUSALS = range(200, 600)
"""Statuses of answers that refuse a WebSocket."""
LONGEST_MS = 600_000.0
"""The longest pause or time that is replayed: ten times as long as a load may take by default."""
UNTIL_HEAD = ("blocked", "dns", "connect", "send", "wait")
"""The parts of a HAR entry's time until the head of the answer."""
CLOSE_CODES = range(1000, 5000)
"""RFC 6455, section 7.4. 1005, which Chrome logs for a close without a code, is never sent: wsproto sees to that."""


@dataclass(frozen=True)
class LiveMessage:
    """A message that the site sends once `awaits` messages of the page have come.

    It is sent `after_ms` after the last of these, or after the site's previous message, whichever was later. For a
    close (opcode 8) `data` is the code.
    """

    awaits: int
    after_ms: float
    opcode: int
    data: bytes


@dataclass(frozen=True)
class LiveConnection:
    """A WebSocket: how the site answered, which extensions both agreed on, and which messages the site sent.

    `url` has the scheme http or https. A `status` other than 101 (Switching Protocols) means that the site refused.
    """

    url: str
    page: str
    status: int
    subprotocol: str
    compressed: bool
    messages: tuple[LiveMessage, ...]


def read_live(entries: list[dict[str, Any]], page: str, last_s: float) -> list[LiveConnection]:
    """Return the WebSockets among the entries of a page's HAR, in its order, with their messages up to `last_s`.

    Nonsense is left out.
    """
    found = []
    for entry in entries:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError):
            scheme, _, rest = str(entry["request"]["url"]).partition(":")
            if scheme.lower() in HTTP_SCHEMES and isinstance(entry.get(MESSAGES), list):
                found.append(_connection(f"{HTTP_SCHEMES[scheme.lower()]}:{rest}", page, entry, last_s))
    return found


def load_event_s(log: Any) -> float:
    """Return when a recorded page's load event was, in s since the epoch; infinity when that is not known."""
    with contextlib.suppress(TypeError, ValueError, KeyError, IndexError, AttributeError):
        page = log["pages"][0]
        began, after_ms = moment_of(page["startedDateTime"]), float(page["pageTimings"]["onLoad"])
        if began is not None and after_ms >= 0:
            return began.timestamp() + after_ms / 1000
    return float("inf")


def first_message_s(entries: list[dict[str, Any]]) -> float:
    """Return when a site first told the page something over a live connection, in s since the epoch; infinity if never.

    Nonsense is left out.
    """
    found = [float("inf")]
    for entry in entries:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError):
            found += [float(message["time"]) for message in entry.get(MESSAGES) or () if message["type"] == "receive"]
            began = moment_of(entry.get("startedDateTime")) if entry.get("_arrivals") and _stays_open(entry) else None
            if began is not None:
                first_ms = min(float(time_ms) for time_ms, _ in entry["_arrivals"])
                found.append(began.timestamp() + (until_head_ms(entry) + first_ms) / 1000)
    return min(found)


def until_head_ms(entry: dict[str, Any]) -> float:
    """Return how long it took from a request's start to the head of its answer, by its HAR entry."""
    return sum(max(0.0, float((entry.get("timings") or {}).get(part, 0))) for part in UNTIL_HEAD)


def _stays_open(entry: dict[str, Any]) -> bool:
    """Say whether an entry is a stream: of events, or one that had no end when the recording ended."""
    headers = headers_of_har((entry.get("response") or {}).get("headers"))
    return bool(entry.get("_partial")) or header_in(headers, "content-type").startswith(EVENT_STREAM)


def arrivals_of(entry: dict[str, Any], last_s: float) -> tuple[Arrivals, bool]:
    """Return an entry's `_arrivals`, in which both numbers ascend, and whether more came later.

    A stream's are those up to `last_s`.
    Raises ValueError, TypeError, KeyError and AttributeError for nonsense.
    """
    if not entry.get("_arrivals"):
        return (), False
    began = moment_of(entry.get("startedDateTime")) if _stays_open(entry) else None
    last_ms = (last_s - began.timestamp()) * 1000 - until_head_ms(entry) if began else float("inf")
    steps = sorted((min(max(0.0, float(time_ms)), LONGEST_MS), int(size)) for time_ms, size in entry["_arrivals"])
    sizes = accumulate((size for _, size in steps), max)
    came = [(time_ms, size) for (time_ms, _), size in zip(steps, sizes, strict=True) if time_ms <= last_ms]
    return tuple(came or [(0.0, 0)]), len(came) < len(steps)


def _connection(url: str, page: str, entry: dict[str, Any], last_s: float) -> LiveConnection:
    headers = {str(pair["name"]).lower(): str(pair["value"]) for pair in entry["response"]["headers"]}
    status = int(entry["response"]["status"])
    if status != HTTPStatus.SWITCHING_PROTOCOLS and status not in REFUSALS:
        raise ValueError(f"{status} is no answer to a WebSocket")
    return LiveConnection(url, page, status, headers.get("sec-websocket-protocol", ""),
                          headers.get("sec-websocket-extensions", "").startswith("permessage-deflate"),
                          tuple(_messages(entry, last_s)))


def _messages(entry: dict[str, Any], last_s: float) -> Iterator[LiveMessage]:
    """Give the messages that the site sent, up to its close or `last_s`.

    When it was recorded, an answer to a message took a round trip as well. The handshake's time, which was a round
    trip, is taken off, since the replay has a round trip of its own. What Chrome's DevTools write as that time lasts
    until the connection's end, so it is never longer than until the first message.
    """
    awaits, answered = 0, True
    begun = moment_of(entry.get("startedDateTime"))
    round_trip_s = max(0.0, float(entry.get("time", 0))) / 1000
    if begun and entry[MESSAGES]:
        round_trip_s = min(round_trip_s, max(0.0, float(entry[MESSAGES][0]["time"]) - begun.timestamp()))
    before_s = begun.timestamp() + round_trip_s if begun else 0.0
    for message in entry[MESSAGES]:
        time_s, opcode = float(message["time"]), int(message["opcode"])
        if time_s > last_s:
            return
        if message["type"] == "send":
            awaits, answered, before_s = awaits + 1, False, time_s
            continue
        pause_ms = (time_s - before_s - (0 if answered else round_trip_s)) * 1000
        yield LiveMessage(awaits, min(max(0.0, pause_ms), LONGEST_MS), opcode, _data(opcode, str(message["data"])))
        if opcode == Opcode.CLOSE:
            return
        answered, before_s = True, time_s


def _data(opcode: int, text: str) -> bytes:
    """Return a message's content. Raises ValueError for what no site can have sent."""
    if opcode == Opcode.BINARY:
        return base64.b64decode(text)
    if opcode == Opcode.CLOSE and int(text) in CLOSE_CODES:
        return str(int(text)).encode()
    if opcode != Opcode.TEXT:
        raise ValueError(f"{text[:40]} with opcode {opcode} is no message")
    return text.encode()
