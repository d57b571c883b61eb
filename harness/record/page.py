"""One visit turned into a recording: each request with its answer and body, as HAR and as text log."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from harness.errors import DISK_FAILURES
from harness.files.exchange import UNFINISHED, UNKNOWN, Answer, Exchange, fate_of
from harness.files.har import PageTimes, har_log, to_har
from harness.files.headers import BODILESS, WITHOUT_BODY, length_in, part_in
from harness.files.load_record import LoadEvent, load_event_of
from harness.files.moments import EPOCH
from harness.files.text_log import PageLog, format_log
from harness.files.urls import without_fragment
from harness.mirror.store import Store
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.page import SLACK_MS, end_load, exchanges, first_word, of_load, page_log
from harness.netlog.sent import Sent, read_sent_bodies
from harness.netlog.silences import Pieces, server_pieces
from harness.netlog.socket_bytes import Sockets
from harness.netlog.transactions import HttpTransaction
from harness.netlog.websockets import read_websockets
from harness.record.sources.brought import Brought, same_name
from harness.record.visit import Visit

STEP_MS = 5.0
"""Times of arrivals that are closer together are one."""


@dataclass
class Seen:
    """A request of a visit: the `transaction` that Chrome logged, in ticks, and the `exchange` that is kept of it.

    The exchange's `content` is the body as on the wire, still encoded, None when there is none to keep; `partial` is
    whether not all of it came, and its note says in words what is special, for the log. Its `error` is "" where all
    came.
    """

    transaction: HttpTransaction
    exchange: Exchange
    stays_open: bool = False
    """Whether it is a stream that every replay sends again."""
    archived: Exchange | None = None
    """What a source has written down of it, where the page comes from one. Where that has no answer, `status` is 0."""

    @property
    def status(self) -> int:
        """The status code, 0 without an answer."""
        return self.exchange.answer.status

    @property
    def over(self) -> bool:
        """Whether it was over, well or not, when the recording ended."""
        return self.exchange.error != UNFINISHED

    @property
    def whole(self) -> bool:
        """Whether all of the answer came."""
        return not self.exchange.answer.partial

    @property
    def endless(self) -> bool:
        """Whether it had no end, and does not say that it has one: of a video a player takes what it needs."""
        return bool(self.status) and not self.over and not self.exchange.answer.header("content-length")

    @property
    def stands_in(self) -> bool:
        """Whether its answer was recorded for another URL, in the source where it comes from."""
        return self.archived is not None and same_name(self.url) != same_name(self.archived.request.url)

    @property
    def url(self) -> str:
        """The URL without its fragment."""
        return without_fragment(self.transaction.url)


@dataclass
class PageRecording:
    """All of one visit. Ticks as in harness.netlog.load."""

    url: str
    visit: Visit
    netlog: NetLog
    start_tick: float
    requests: list[Seen]
    websockets: list[Exchange] = field(default_factory=list)
    brought: Brought | None = None
    """The source that others recorded, whose times nobody knows; None for the Internet."""
    began: datetime = EPOCH

    @cached_property
    def load_event(self) -> LoadEvent | None:
        """When the load event was, in ticks; None where nobody knows."""
        return load_event_of(self.visit.timing, began_ms=self.origin_tick) if self.origin_tick else None

    @property
    def origin_tick(self) -> float:
        """When the document that is shown was navigated to, 0 where it is not known."""
        return self.netlog.tick(self.visit.time_origin_ms) if self.visit.time_origin_ms else 0.0

    @property
    def navigated_tick(self) -> float:
        """When the navigation to the document that is shown began, at the earliest; 0 where it is not known."""
        return max(0.0, self.origin_tick - SLACK_MS)

    def set_fates(self) -> None:
        """Say of each exchange what became of it, and whether a document asked for it that another took the place of.

        A load begins with the navigation to the document that is shown, so it does not get what came before; and a
        document that is replaced asks for things until the head of the other is there.
        """
        since, head_tick, documents = self.navigated_tick, 0.0, [seen.transaction for seen in self.documents()]
        shown = next((document for document in documents if document.start >= since), None)
        if shown is None or shown is documents[0]:
            since = 0.0
        else:
            head_tick = first_word(shown) - SLACK_MS
        for seen in self.requests:
            asked, exchange = seen.transaction, seen.exchange
            late = self.load_event is not None and self.load_event.is_late(asked.start, asked.end)
            seen.exchange = replace(
                exchange, fate=fate_of(exchange.request.url, exchange.error, answered=bool(seen.status), late=late),
                before_document=asked.start < (since if asked.main_frame else head_tick))

    def documents(self) -> list[Seen]:
        """Return the answers that the main frame showed, in order: a later one without a body leaves the page there."""
        answers = [seen for seen in self.requests
                   if seen.transaction.main_frame and not seen.exchange.answer.redirect_url]
        return [seen for seen in answers if seen.status not in WITHOUT_BODY] or answers

    def write(self, store: Store, name: str) -> None:
        """Put the bodies, the text log and the HAR into `store`; `name` is the page's file name.

        Raises OSError when the disk is full or broken; a body whose URL makes no file is only noted.
        """
        whole = {seen.url for seen in self.requests if seen.whole}
        # By URL, so that of two which cannot both have their plain name (/a, /a/b) always the same one has it.
        for seen in sorted(self.requests, key=_rank):
            answer = seen.exchange.answer
            given_up = not seen.whole and seen.url in whole     # before its first byte: another time is better
            if answer.content or (answer.content is not None and seen.status == 200 and not given_up):
                try:
                    body = store.put(seen.url, seen.transaction.method, answer.content)
                    seen.exchange = replace(seen.exchange, answer=replace(answer, body=body))
                except (ValueError, OSError) as error:
                    if isinstance(error, OSError) and error.errno in DISK_FAILURES:
                        raise       # the page would look whole without its bodies
                    seen.exchange = replace(seen.exchange, note=f"its body cannot be kept: {error}")
        # Where the times are unknown, so is all that a text log has.
        log = PageLog() if self.brought else page_log(self.netlog, self.start_tick)
        (store.fetchlog / name).write_text(format_log(log), encoding="utf-8")
        (store.fetchlog / f"{name}.har").write_text(json.dumps(self._har()), encoding="utf-8")

    def _har(self) -> dict[str, Any]:
        """Return the HAR, which says where bodies are. Of a page that others recorded times are unknown."""
        shift_ms = self.origin_tick - self.start_tick if self.origin_tick else 0.0
        content_load_ms, load_ms = (
            shift_ms + after_ms if (after_ms := self.visit.timing.get(name)) and not self.brought else UNKNOWN
            for name in ("domContentLoadedEventEnd", "loadEventEnd"))
        kept = [replace(seen.exchange, answer=replace(seen.exchange.answer, content=None)) for seen in self.requests]
        return har_log(self.url, [*map(to_har, (*kept, *self.websockets))],
                       PageTimes(self.began, content_load_ms, load_ms), browser=self.netlog.browser_version)


def evaluate(url: str, visit: Visit, netlog_file: Path, clock_shift_ms: float = 0.0) -> PageRecording:
    """Read what a visit left behind, whose Chrome's clock was ahead by `clock_shift_ms`. Raises ExperimentError."""
    sockets = Sockets()
    netlog = read_netlog(netlog_file, sockets)
    netlog.clock_shift_ms = clock_shift_ms
    pieces = server_pieces(netlog)
    if visit.end_tick is not None:
        end_load(netlog, visit.end_tick)
    documents = (transaction.start for transaction in netlog.transactions
                 if transaction.main_frame and transaction.start >= visit.start_tick - SLACK_MS)
    start_tick = float(next(documents, visit.start_tick))
    requests = [_seen(transaction, replace(exchange, handshake_ms=used.connect_ms if (used := transaction.connection)
                                           else None), pieces.get((transaction.source, transaction.hop), ()))
                for transaction, exchange in zip(
                    of_load(netlog, start_tick), exchanges(netlog, start_tick), strict=True)]
    _add_sent_bodies(requests, read_sent_bodies(sockets.found.values()))
    recording = PageRecording(
        url, visit, netlog, start_tick, requests, began=netlog.moment(start_tick),
        websockets=read_websockets(sockets.found.values(), netlog.moment, visit.end_tick))
    recording.set_fates()
    return recording


def _add_sent_bodies(requests: list[Seen], bodies: dict[tuple[str, str], list[Sent]]) -> None:
    """Give each request that was sent its body.

    Several with one method and URL on its connection are in the order of sending. Requests over other connections may
    overtake it, or be its own first try on one that was dead.
    """
    sent = [seen for seen in requests if seen.transaction.sends]
    for seen in sorted(sent, key=lambda seen: (
            seen.transaction.connection is None, seen.transaction.start + seen.transaction.phases.until_asked)):
        waiting = bodies.get((seen.transaction.method, seen.url), [])
        used = seen.transaction.connection
        found = next((sent for sent in waiting if used is None or used.id == sent.connection), None)
        if found is not None:
            waiting.remove(found)
            exchange = seen.exchange
            seen.exchange = replace(exchange, request=replace(exchange.request, body=found.body))


def _seen(transaction: HttpTransaction, exchange: Exchange, pieces: Pieces) -> Seen:
    """Return what is kept of a request: its body, whether that is all, and its arrivals.

    These are of an answer that stays open, or else show pauses of the server (`pieces`).
    """
    answer, body, over = exchange.answer, transaction.body, exchange.error != UNFINISHED
    if not answer.status:
        return Seen(transaction, replace(exchange, note=exchange.error, answer=replace(answer, partial=True)))
    content, whole, streamed = None, True, list[tuple[float, int]]()
    if transaction.redirect_url is None and answer.status not in BODILESS and transaction.method != "HEAD":
        content, length = body.wire, length_in(answer.headers or ())
        whole = over and _is_all(answer) and (not transaction.error if length is None else length == len(body.wire))
        if transaction.is_stream(over=over):
            streamed = [(max(0.0, tick - transaction.head_tick), size) for tick, size in body.arrivals]
    arrivals = _in_steps(streamed or (pieces if whole else ()))
    error = ("" if over else UNFINISHED) if whole else exchange.error
    return Seen(transaction, replace(
        exchange, error=error, note="" if whole else exchange.error or "incomplete",
        answer=replace(answer, content=content, partial=not whole, arrivals=arrivals)), bool(streamed))


def _in_steps(arrivals: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Return when how much of an answer had come, in steps of STEP_MS."""
    steps: list[tuple[float, int]] = []
    for time_ms, size in arrivals:
        if steps and time_ms - steps[-1][0] < STEP_MS:
            steps[-1] = steps[-1][0], size
        else:
            steps.append((time_ms, size))
    return tuple(steps)


def _is_all(answer: Answer) -> bool:
    """Say whether the answer is not a part of something: 206 is, unless the part is all of it (RFC 9110, 14.4)."""
    first, last, total = part_in(answer.headers or ()) or (0, 0, None)
    return answer.status != 206 or (first == 0 and total == last + 1)


def _rank(seen: Seen) -> tuple[str, bool, bool, bool, bool, bytes]:
    """Order bodies by URL and how well they stand for it, the best first: GET, whole, a page's own document, https."""
    return (seen.url.partition("//")[2], seen.transaction.method != "GET", not seen.whole,
            not seen.transaction.main_frame, seen.url.startswith("http:"), seen.exchange.answer.content or b"")
