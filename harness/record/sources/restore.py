"""After Chrome has loaded a page from an archive: give each exchange what the archive knows of it.

The net-log has what harness.record.sources.server sent; the recording gets the recorded head, protocol and date.
Requests without an answer become failures, and not a site's 404. How long anything took is not known: the times of
loading from loopback are nobody's.
"""

import re
from dataclasses import replace

from harness.files.headers import Headers, header_in
from harness.files.urls import document_url
from harness.netlog.load import HttpTransaction
from harness.record.page import CapturedExchange, PageRecording
from harness.record.sources.answers import BODY_MISSING, NOT_FOUND, same_name
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.server import MISSING, NUMBER, ArchiveServer

WHOLE = re.compile("[0-9]{1,9}")


def restore(recording: PageRecording, server: ArchiveServer) -> None:
    """Put into `recording` what the source of `server` has written down, and say that its times are unknown."""
    recording.brought_from = server.source.name
    recording.websockets = [websocket for websocket in recording.websockets
                            if _number_in(websocket.response_headers, server) != MISSING]
    recording.source_remarks = server.source.remarks
    recording.recorded_urls = server.source.urls_asked_for(recording.url)
    lost_by_name = {same_name(url): lost_bytes for url, lost_bytes in server.source.without_body.items()}
    changed: dict[int, HttpTransaction] = {}
    for exchange in recording.exchanges:
        exchange.arrivals = exchange.pieces = ()     # of loading from loopback
        number = _number_in(exchange.transaction.response_headers, server)
        if number is None:
            continue
        before = exchange.transaction
        if number == MISSING:
            lost_bytes = lost_by_name.get(same_name(document_url(exchange.url)))
            _lose(exchange, NOT_FOUND if lost_bytes is None else BODY_MISSING, lost_bytes or 0)
        else:
            answer = server.answers[number]
            if answer is not None:
                _restore(exchange, answer)
        changed[id(before)] = exchange.transaction
    netlog = recording.netlog
    netlog.transactions = [changed.get(id(transaction), transaction) for transaction in netlog.transactions]
    documents = recording.documents()
    if documents and documents[-1].transaction.error == NOT_FOUND:
        recording.recorded_documents = server.source.documents()


def _number_in(headers: Headers, server: ArchiveServer) -> int | None:
    """Return the number of the server's answer; None where Chrome answered itself, or nobody did."""
    value = header_in(headers, NUMBER)
    return int(value) if WHOLE.fullmatch(value) and int(value) < len(server.answers) else None


def _lose(exchange: CapturedExchange, error: str, lost_bytes: int) -> None:
    """Make a failure of what the archive does not have."""
    exchange.lost_bytes = lost_bytes
    exchange.transaction = replace(exchange.transaction, status=0, status_text="", http_version="", mime_type="",
                                   charset="", response_headers=(), error=error, body_bytes=0, content_bytes=0)
    exchange.body, exchange.whole, exchange.note = None, False, error


def _restore(exchange: CapturedExchange, answer: ArchivedAnswer) -> None:
    headers, length = answer.headers, header_in(exchange.transaction.response_headers, "content-length")
    if exchange.transaction.method == "HEAD" and length and not header_in(headers, "content-length"):
        headers += (("Content-Length", length),)    # of the body that a GET got: pages ask how large it is
    exchange.transaction = replace(exchange.transaction, status_text=" ".join(answer.reason.split()),
                                   response_headers=headers)
    exchange.archived = answer
    if answer.stand_in:
        exchange.note = f"a stand-in: recorded for {answer.url}"
    elif answer.cut:
        exchange.note = "its end is missing where it comes from: NULs stand for it"
