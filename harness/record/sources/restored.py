"""After Chrome has loaded a page from a source: give each exchange what the source knows of it.

The net-log has what the servers on loopback sent; the recording gets the recorded head, protocol and date. Requests
without an answer become failures, and not a site's 404. How long anything took is not known: the times of loading from
loopback are nobody's.
"""

import re
from dataclasses import replace
from http import HTTPStatus

from harness.files.exchange import Exchange
from harness.files.headers import Headers, header_in
from harness.files.urls import document_url
from harness.netlog.load import HttpTransaction
from harness.record.page import CapturedExchange, PageRecording
from harness.record.sources.brought import NUMBER, Brought, Missing, same_name

WHOLE = re.compile("[0-9]{1,9}")


def restore(recording: PageRecording, brought: Brought) -> None:
    """Put into `recording` what the source has written down, and say that its times are unknown."""
    recording.brought_from = brought.name
    recording.websockets = [websocket for websocket in recording.websockets
                            if websocket.status != HTTPStatus.NOT_IMPLEMENTED]       # which is what the source lacks
    recording.source_remarks = brought.remarks
    recording.recorded_urls = frozenset(brought.asked_for.get(document_url(recording.url), ()))
    lost = {same_name(url): missing for url, missing in brought.missing.items()}
    changed: dict[int, HttpTransaction] = {}
    for exchange in recording.exchanges:
        exchange.arrivals = exchange.pieces = ()     # of loading from loopback
        before = exchange.transaction
        answered = exchange.archived = _numbered(before.response_headers, brought)
        if before.main_frame and exchange.stands_in:        # another page is not this one
            exchange.archived = None
        if exchange.archived is not None:
            _restore(exchange, exchange.archived)
        elif answered is None and (not before.status or before.connection is None or _is_preflight(exchange)):
            continue        # Chrome answered itself, or nobody did; or the servers allowed it (CORS)
        else:
            _lose(exchange, lost.get(same_name(document_url(exchange.url))))
        changed[id(before)] = exchange.transaction
    netlog = recording.netlog
    netlog.transactions = [changed.get(id(transaction), transaction) for transaction in netlog.transactions]
    documents = recording.documents()
    if documents and documents[-1].is_lacking and not documents[-1].lost:
        recording.recorded_documents = brought.documents


def _numbered(headers: Headers, brought: Brought) -> Exchange | None:
    """Return the exchange whose number an answer has; None for what the source did not answer."""
    value = header_in(headers, NUMBER)
    number = int(value) if WHOLE.fullmatch(value) else 0
    return brought.exchanges[number - 1] if 0 < number <= len(brought.exchanges) else None


def _is_preflight(exchange: CapturedExchange) -> bool:
    """Say whether Chrome asked before it asked (CORS): the servers allow it, since most archives do not have these."""
    return exchange.transaction.method == "OPTIONS" and exchange.status == HTTPStatus.NO_CONTENT


def _lose(exchange: CapturedExchange, lost: Missing | None) -> None:
    """Make a failure of what the source does not have."""
    exchange.is_lacking, exchange.lost = True, lost
    error = f"in the archive without its body ({lost.why})" if lost else "not in the archive"
    exchange.transaction = replace(exchange.transaction, status=0, status_text="", http_version="", mime_type="",
                                   charset="", response_headers=(), redirect_url=None, error=error, body_bytes=0,
                                   content_bytes=0)
    exchange.body, exchange.whole, exchange.note = None, False, error


def _restore(exchange: CapturedExchange, answered: Exchange) -> None:
    answer, sent = answered.answer, exchange.transaction.response_headers
    headers, length = answer.headers or (), header_in(sent, "content-length")
    if exchange.transaction.method == "HEAD" and length and not header_in(headers, "content-length"):
        headers += (("Content-Length", length),)    # of the body that a GET got: pages ask how large it is
    part = header_in(sent, "content-range")
    if part and part != answer.header("content-range"):     # what was asked for is what the recording has
        headers = (*(pair for pair in headers if pair[0].lower() not in ("content-range", "content-length")),
                   ("Content-Range", part))
    exchange.transaction = replace(exchange.transaction, status_text=" ".join(answer.reason.split()),
                                   response_headers=headers)
    if exchange.stands_in:
        exchange.note = f"a stand-in: recorded for {answered.request.url}"
