"""Live connections of a recording: WebSockets with their messages, and streams of events with their times.

A WebSocket is an exchange with messages. An answer that stays open has `arrivals`: when how many bytes had come. So has
one with an end that its server sent with pauses: of it nothing is left out.

What came after the recorded load event is left out. In a replay (at a longer round trip, say) it could come before the
load event, and the load would then wait for something that the recorded page did not wait for. A page that its live
connections fill, such as a feed, is replayed without that part.

Anybody may have written such a HAR: nonsense is left out, and no pause is longer than LONGEST_MS.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import accumulate

from wsproto.frame_protocol import Opcode

from harness.files.exchange import Exchange, Message, Place
from harness.files.headers import EVENT_STREAM
from harness.mirror.exchanges import replayed_place

Arrivals = tuple[tuple[float, int], ...]
"""When, in ms since an answer's head, how many bytes of its body had come."""
REFUSALS = range(200, 600)
"""Statuses of answers that refuse a WebSocket."""
LONGEST_MS = 600_000.0
"""The longest pause or time that is replayed: ten times as long as a load may take by default."""
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
    """A WebSocket: its exchange, `place` with the scheme http or https, and which messages the site sent.

    Another status than 101 (Switching Protocols) means that the site refused.
    """

    exchange: Exchange
    place: Place
    messages: tuple[LiveMessage, ...]


def read_live(exchanges: Iterable[Exchange], last_s: float) -> list[LiveConnection]:
    """Return the WebSockets among a page's exchanges, in their order, with their messages up to `last_s`."""
    found = []
    for exchange in exchanges:
        answer, place = exchange.answer, replayed_place(exchange)
        is_answer = answer.status == HTTPStatus.SWITCHING_PROTOCOLS or answer.status in REFUSALS
        is_websocket = exchange.request.url.lower().startswith(("ws:", "wss:")) and answer.messages is not None
        if place is not None and is_websocket and is_answer and all(map(_can_be_sent, answer.messages or ())):
            found.append(LiveConnection(exchange, place, tuple(_messages(exchange, last_s))))
    return found


def first_message_s(exchanges: Iterable[Exchange]) -> float:
    """Return when a live connection first told the page something, in s since the epoch; infinity where none did."""
    came: list[float] = []
    for exchange in exchanges:
        came += [message.time_s for message in exchange.answer.messages or () if message.received]
        if exchange.started is not None and exchange.answer.arrivals and _stays_open(exchange):
            head_s = exchange.started.timestamp() + exchange.phases.until_head / 1000
            came.append(head_s + exchange.answer.arrivals[0][0] / 1000)
    return min(came, default=math.inf)


def _stays_open(exchange: Exchange) -> bool:
    """Say whether an exchange is a stream: of events, or one that had no end when the recording ended."""
    return exchange.answer.partial or exchange.answer.header("content-type").startswith(EVENT_STREAM)


def arrivals_of(exchange: Exchange, last_s: float) -> tuple[Arrivals, bool]:
    """Return when how much of an answer had come, in which both numbers ascend, and whether more came later.

    A stream's are those up to `last_s`.
    """
    answer = exchange.answer
    if not answer.arrivals:
        return (), False
    last_ms = math.inf
    if exchange.started and _stays_open(exchange):
        last_ms = (last_s - exchange.started.timestamp()) * 1000 - exchange.phases.until_head
    steps = sorted((min(max(0.0, time_ms), LONGEST_MS), size) for time_ms, size in answer.arrivals)
    sizes = accumulate((size for _, size in steps), max)
    came = [(time_ms, size) for (time_ms, _), size in zip(steps, sizes, strict=True) if time_ms <= last_ms]
    return tuple(came or [(0.0, 0)]), len(came) < len(steps)


def _messages(exchange: Exchange, last_s: float) -> Iterator[LiveMessage]:
    """Give the messages that the site sent, up to its close or `last_s`.

    When it was recorded, an answer to a message took a round trip as well. The handshake's time, which was a round
    trip, is taken off, since the replay has a round trip of its own. What Chrome's DevTools write as that time lasts
    until the connection's end, so it is never longer than until the first message.
    """
    awaits, answered = 0, True
    messages = exchange.answer.messages or ()
    round_trip_s, before_s = max(0.0, exchange.length_ms) / 1000, 0.0
    if exchange.started:
        begun_s = exchange.started.timestamp()
        if messages:
            round_trip_s = min(round_trip_s, max(0.0, messages[0].time_s - begun_s))
        before_s = begun_s + round_trip_s
    for message in messages:
        if message.time_s > last_s:
            return
        if not message.received:
            awaits, answered, before_s = awaits + 1, False, message.time_s
            continue
        pause_ms = (message.time_s - before_s - (0 if answered else round_trip_s)) * 1000
        yield LiveMessage(awaits, min(max(0.0, pause_ms), LONGEST_MS), message.opcode, message.data)
        if message.opcode == Opcode.CLOSE:
            return
        answered, before_s = True, message.time_s


def _can_be_sent(message: Message) -> bool:
    """Say whether a site can have sent such a message."""
    if message.opcode == Opcode.CLOSE:
        return message.data.isdigit() and int(message.data) in CLOSE_CODES
    return message.opcode in (Opcode.TEXT, Opcode.BINARY)
