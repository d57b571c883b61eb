"""One visit turned into a recording: each request with its answer and body, and the text log.

harness.record.archive makes the HAR of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.errors import DISK_FAILURES
from harness.files.exchange import Exchange
from harness.files.headers import BODILESS, WITHOUT_BODY, header_in
from harness.files.load_event import LoadEvent, load_event_of
from harness.files.text_log import PageLog, Response, format_log
from harness.files.urls import document_url, without_fragment
from harness.mirror.importing import status_code
from harness.netlog.bodies import Bodies, ResponseBody
from harness.netlog.load import (
    SLACK_MS,
    HttpTransaction,
    NetLog,
    cut_off,
    first_word,
    of_load,
    page_log,
    read_netlog,
)
from harness.netlog.pauses import Pieces, server_pieces
from harness.netlog.sent import Sent, read_sent_bodies
from harness.netlog.socket_bytes import Sockets
from harness.netlog.websockets import WebSocket, read_websockets
from harness.record.sources.brought import Missing, same_name
from harness.record.store import Store
from harness.record.visit import Visit

NUMBER = re.compile("[0-9]{1,18}")


@dataclass
class CapturedExchange:
    """One request and what came of it. `note` says in words what is special, for the log."""

    transaction: HttpTransaction
    over: bool
    """Whether it was over, well or not, when the recording ended."""
    body: bytes | None = None
    """As on the wire, still encoded; None when there is none to keep."""
    whole: bool = True
    is_part: bool = False
    """Whether it is the part of something that the request asked for, and all of that came."""
    sent: bytes = b""
    """The request's body."""
    head_bytes: int = 0
    """Of the answer's head over HTTP/2, as it came; 0 where that is not known."""
    is_lacking: bool = False
    """Whether the source that the page comes from has no answer to it."""
    lost: Missing | None = None
    """Why that is, where the source lists the answer, without its body."""
    archived: Exchange | None = None
    """What a source has written down of it, where it did not come from the Internet."""
    arrivals: Pieces = ()
    """Of an answer that stays open: how long after its head, in ms, how many bytes of the body had come."""
    pieces: Pieces = ()
    """Of one that had an end, and that its server sent with pauses: when, in ms since its head, it had how much."""
    note: str = ""
    file: str = ""

    @property
    def status(self) -> int:
        """The status code, 0 without an answer."""
        return self.transaction.status

    @property
    def endless(self) -> bool:
        """Whether it had no end, and does not say that it has one: of a video a player takes what it needs."""
        length = header_in(self.transaction.response_headers, "content-length")
        return bool(self.status) and not self.over and not length

    @property
    def stands_in(self) -> bool:
        """Whether its answer was recorded for another URL, in the source where it comes from."""
        return self.archived is not None and same_name(document_url(self.url)) != same_name(self.archived.request.url)

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
    exchanges: list[CapturedExchange]
    websockets: list[WebSocket] = field(default_factory=list)
    brought_from: str = ""
    """The source that others recorded, whose times nobody knows; "" for the Internet."""
    source_remarks: Sequence[str] = ()
    """What could not be read of that source."""
    recorded_urls: frozenset[str] = frozenset()
    """What the load that others recorded got (harness.record.sources.brought.mask); empty where nobody knows."""
    recorded_documents: Sequence[str] = ()
    """A few of the HTML documents that the source has, where it lacks the page's own."""

    @cached_property
    def load_event(self) -> LoadEvent | None:
        """When the load event was, in ticks; None where nobody knows."""
        origin_ms = self.visit.time_origin_ms
        return load_event_of(self.visit.timing, began_ms=self.netlog.tick(origin_ms)) if origin_ms else None

    def is_late(self, exchange: CapturedExchange) -> bool:
        """Tell whether the load event did not wait for a request."""
        return self.load_event is not None and self.load_event.is_late(exchange.transaction.start,
                                                                       exchange.transaction.end)

    def is_of_replaced(self, exchange: CapturedExchange) -> bool:
        """Tell whether a request is of a document of the page's that the one that is shown took the place of.

        A load begins with the navigation to the document that is shown, so it does not get what came before.
        """
        since, head_tick = self._shown
        return exchange.transaction.start < (since if exchange.transaction.main_frame else head_tick)

    @property
    def navigated_tick(self) -> float:
        """When the navigation to the document that is shown began, at the earliest; 0 where it is not known."""
        origin_ms = self.visit.time_origin_ms
        return self.netlog.tick(origin_ms) - SLACK_MS if origin_ms else 0.0

    @cached_property
    def _shown(self) -> tuple[float, float]:
        """When the navigation to the document that is shown began, and when its head came, in ticks; 0 where it is the
        only one.
        """
        since = self.navigated_tick
        documents = [exchange.transaction for exchange in self.documents()]
        shown = next((document for document in documents if document.start >= since), None)
        if shown is None or shown is documents[0]:
            return 0.0, 0.0
        return since, first_word(shown) - SLACK_MS

    def documents(self) -> list[CapturedExchange]:
        """Return the answers that the main frame showed, in order: a later one without a body leaves the page there."""
        answers = [exchange for exchange in self.exchanges
                   if exchange.transaction.main_frame and exchange.transaction.redirect_url is None]
        return [exchange for exchange in answers if exchange.status not in WITHOUT_BODY] or answers

    def write(self, store: Store, name: str) -> None:
        """Put the bodies and the text log into `store`; `name` is the page's file name.

        Raises OSError when the disk is full or broken; a body whose URL makes no file is only noted.
        """
        whole = {exchange.url for exchange in self.exchanges if exchange.whole}
        best_first = sorted(self.exchanges, key=_rank, reverse=True)
        # By URL, so that of two which cannot both have their plain name (/a, /a/b) always the same one has it.
        for exchange in sorted(best_first, key=lambda exchange: exchange.url.partition("//")[2]):
            given_up = not exchange.whole and exchange.url in whole     # before its first byte: another time is better
            if exchange.body or (exchange.body is not None and exchange.status == 200 and not given_up):
                try:
                    exchange.file = store.put(exchange.url, exchange.transaction.method, exchange.body)
                except (ValueError, OSError) as error:
                    if isinstance(error, OSError) and error.errno in DISK_FAILURES:
                        raise       # the page would look whole without its bodies
                    exchange.note = f"its body cannot be kept: {error}"
        (store.fetchlog / name).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return the log in the 2013 format, followed by a line for each answer that is special.

        Where the times are unknown it has no sections that are made of them.
        """
        log = page_log(self.netlog, self.start_tick, self.visit.end_tick)
        if self.brought_from:
            log = PageLog()
        log.responses = [_response(exchange) for exchange in _in_log_order(self.exchanges)]
        return format_log(PageLog(log.resolves, log.transactions, log.responses, log.transactions_seen)) + "".join(
            f"note: {exchange.transaction.method} {exchange.url}: {exchange.note}\n"
            for exchange in self.exchanges if exchange.note)


def evaluate(url: str, visit: Visit, netlog_file: Path) -> PageRecording:
    """Read what a visit left behind. Raises ExperimentError."""
    answered, sockets = Bodies(), Sockets()
    netlog = read_netlog(netlog_file, answered, sockets)
    bodies = answered.by_request()
    pieces = server_pieces(netlog, bodies)
    documents = [transaction.start for transaction in netlog.transactions
                 if transaction.main_frame and transaction.start >= visit.start_tick - SLACK_MS]
    start_tick = float(documents[0]) if documents else visit.start_tick
    exchanges = [_captured(transaction, bodies.get((transaction.source, transaction.hop)), visit.end_tick)
                 for transaction in of_load(netlog, start_tick, visit.end_tick)]
    for exchange in exchanges:
        if exchange.whole and not exchange.arrivals:
            exchange.pieces = pieces.get((exchange.transaction.source, exchange.transaction.hop), ())
    _add_sent_bodies(exchanges, read_sent_bodies(sockets.found.values()))
    return PageRecording(url, visit, netlog, start_tick, exchanges,
                         read_websockets(sockets.found.values(), visit.end_tick))


def _add_sent_bodies(exchanges: list[CapturedExchange], bodies: dict[tuple[str, str], list[Sent]]) -> None:
    """Give each request that was sent its body, and the size of its answer's head.

    Several with one method and URL on its connection are in the order of sending. Requests over other connections may
    overtake it, or be its own first try on one that was dead.
    """
    sent = [exchange for exchange in exchanges if exchange.transaction.sends]
    for exchange in sorted(sent, key=lambda exchange: (exchange.transaction.connection is None, _send_tick(exchange))):
        waiting = bodies.get((exchange.transaction.method, exchange.url), [])
        found = next((sent for sent in waiting if exchange.transaction.connection in (None, sent.connection)), None)
        if found is not None:
            waiting.remove(found)
            exchange.sent, exchange.head_bytes = found.body, found.head_bytes


def _send_tick(exchange: CapturedExchange) -> float:
    """Return when the request was sent."""
    phases = exchange.transaction.phases
    return exchange.transaction.start + sum(max(0.0, part) for part in (phases.blocked, phases.dns, phases.connect))


def _captured(transaction: HttpTransaction, body: ResponseBody | None, end_tick: float | None) -> CapturedExchange:
    exchange = CapturedExchange(transaction, over=not cut_off(transaction, end_tick))
    if not transaction.status:
        exchange.whole = False
        exchange.note = transaction.error if exchange.over else "no answer when the recording ended"
    elif (transaction.redirect_url is None and transaction.status not in BODILESS
          and transaction.method != "HEAD"):
        exchange.body = body.wire if body else b""
        length = header_in(transaction.response_headers, "content-length")
        told = NUMBER.fullmatch(length)
        all_came = int(length) == len(exchange.body) if told else not transaction.error
        exchange.whole = exchange.over and all_came and _is_all(transaction)
        exchange.is_part = exchange.over and all_came and not exchange.whole
        if exchange.whole and transaction.error:
            exchange.note = f"{transaction.error} after its last byte"
        elif not exchange.over:
            exchange.note = f"still arriving when the recording ended; {len(exchange.body)} bytes are kept"
        elif not exchange.whole:
            exchange.note = f"{transaction.error or 'incomplete'}; {len(exchange.body)} bytes are kept"
        if body and transaction.is_stream(over=exchange.over):
            head_tick = transaction.start + transaction.phases.until_head
            exchange.arrivals = tuple((max(0.0, tick - head_tick), size) for tick, size in body.arrivals)
    return exchange


def _is_all(transaction: HttpTransaction) -> bool:
    """Say whether the answer is not a part of something: 206 is, unless the part is all of it (RFC 9110, 14.4)."""
    if transaction.status != 206:
        return True
    unit, _, part = header_in(transaction.response_headers, "content-range").partition(" ")
    where, _, total = part.partition("/")
    return unit == "bytes" and NUMBER.fullmatch(total) is not None and where == f"0-{int(total) - 1}"


def _in_log_order(exchanges: list[CapturedExchange]) -> list[CapturedExchange]:
    """Return the answers with a head in order of completion; a URL's GET last, and a page last of these, since readers
    go by the last.

    Without 304: the body that it stands for was answered, and is logged, before.
    """
    heard = [exchange for exchange in exchanges if exchange.status and exchange.transaction.status != 304]
    return sorted(heard, key=lambda exchange: (exchange.transaction.method == "GET", exchange.transaction.main_frame,
                                           _end(exchange)))


def _rank(exchange: CapturedExchange) -> tuple[bool, bool, bool, bool, float, bytes]:
    """Order bodies by how well they stand for their URL: GET, whole, a page's own document, https, late.

    Of several answers to POSTs, which often race each other, none is better: always the same one comes first.
    """
    is_get = exchange.transaction.method == "GET"
    return (is_get, exchange.whole, exchange.transaction.main_frame, exchange.url.startswith("https:"),
            _end(exchange) if is_get else 0.0, exchange.body or b"")


def _end(exchange: CapturedExchange) -> float:
    return exchange.transaction.end if exchange.over and exchange.transaction.end is not None else float("inf")


def _response(exchange: CapturedExchange) -> Response:
    transaction = exchange.transaction
    return Response(_words(transaction.status, transaction.status_text, transaction.redirect_url),
                    transaction.mime_type, transaction.charset, transaction.url, transaction.redirect_url)


def _words(status: int, text: str, redirect_url: str | None) -> str:
    """Return the status line's text, with the code before it if a reader would not find the code from the text."""
    return text if status_code(text, redirect_url, in_mirror=True) == status else f"{status} {text}".strip()
