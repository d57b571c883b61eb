"""HAR files with bodies as a source of pages.

A HAR has the bodies decoded. So that as many bytes cross the network as did then, they are compressed again as their
Content-Encoding says, at the level that comes nearest to the recorded size: once, when a page first asks for them.
"""

from collections.abc import Sequence
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from harness.files.encoding import codings, encode
from harness.files.foreign_entry import ForeignEntry
from harness.files.foreign_pages import page_urls
from harness.files.har import exchanges_of
from harness.files.headers import REDIRECTS, WITHOUT_BODY
from harness.files.urls import document_url
from harness.mirror.asked import Asked, headers_of
from harness.mirror.headers import OF_NO_RECORDING
from harness.mirror.live import read_live
from harness.record.sources.answers import Entry, Index, hash_of, mask, masked_hash_of, same_name
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.encoding import remark_on_noise

NOT_COMPRESSED = ("image/", "font/", "audio/", "video/")
WITHOUT_CONTENT = (*WITHOUT_BODY, *REDIRECTS)


def index_har(entries: list[ForeignEntry], websockets: Sequence[tuple[dict[str, Any], float]] = ()
              ) -> tuple[Index, list[str]]:
    """Return the exchanges of a HAR, and its pages' URLs; with the `websockets` among its entries, each up to a time in
    s since the epoch, its page's load event. What belongs to no page comes last, for URLs that no page has.
    """
    pages = page_urls(entries)
    index = Index(live=[live for entry, last_s in websockets for live in read_live(exchanges_of([entry]), last_s)])
    of_pages = [entry for entry in entries if entry.status and (not pages or entry.page in pages)]
    known = {(entry.method, same_name(entry.url)) for entry in of_pages}
    answered = of_pages + [entry for entry in entries if entry.status and (entry.method, same_name(entry.url))
                           not in known]
    for entry in filter(_is_known, answered):
        asked = Asked(headers_of(entry.request_headers))
        index.entries.append(Entry(entry.method, document_url(entry.url), entry.status,
                                   cache(partial(_answer, entry)),
                                   hash_of(entry.request_body), asked.purpose, masked_hash_of(entry.request_body),
                                   asked.headers.get("origin", "")))
    index.marks_navigations = any(Asked(headers_of(entry.request_headers)).navigation for entry in answered)
    index.without_body = {document_url(entry.url): _lost_bytes(entry) for entry in answered if not _is_known(entry)}
    index.remarks = remark_on_noise([entry.url for entry in answered if entry.is_noise])
    return index, list(pages.values())


def _is_known(entry: ForeignEntry) -> bool:
    """Say whether the HAR has all of an answer. One with status 304 and no body is in the browser's cache alone."""
    known = entry.body is not None or entry.status in WITHOUT_CONTENT or not entry.content_bytes
    return known and entry.status != HTTPStatus.NOT_MODIFIED


def _lost_bytes(entry: ForeignEntry) -> int:
    """Return the size on the network of a body that the HAR lacks, 0 where nobody knows.

    Of what came from the browser's cache a HAR says only how large it is decoded.
    """
    is_decoded = entry.status == HTTPStatus.NOT_MODIFIED and not entry.mime_type.startswith(NOT_COMPRESSED)
    return 0 if is_decoded else max(0, entry.wire_bytes)


def urls_asked_for(entries: Sequence[ForeignEntry]) -> dict[str, frozenset[str]]:
    """Return which URLs (`answers.mask`) the recorded load of each page got up to its load event, by the page's URL."""
    asked = {}
    for page, url in page_urls(list(entries)).items():
        got = [entry for entry in entries if entry.page == page and entry.status and not entry.late]
        if any(entry.late is None for entry in got):
            got = _referred_to(got, url)
        asked[document_url(url)] = frozenset(mask(document_url(entry.url)) for entry in got)
    return asked


def _referred_to(entries: list[ForeignEntry], page_url: str) -> list[ForeignEntry]:
    """Return what a page, or the part of its URL that browsers tell others, referred to; all where nothing is told.

    Where the load event is not known the browser itself may have asked for things, and another page may follow.
    """
    referrers = {entry.request_header("referer") for entry in entries}
    if referrers == {""}:
        return entries
    return [entry for entry in entries if entry.request_header("referer") in (page_url, urljoin(page_url, "/"))]


def _answer(entry: ForeignEntry) -> ArchivedAnswer:
    named = entry.header("content-encoding").lower()
    body, encoding = ((entry.body or b"", named) if entry.still_encoded
                      else encode(entry.body or b"", named, entry.wire_bytes))
    recoded = named if encoding and not entry.still_encoded and encoding != ", ".join(codings(named)) else ""
    # What a HEAD gets told is of the body that a GET would get.
    anew = () if entry.method == "HEAD" else ("content-encoding", "content-length")
    headers = tuple((name, value) for name, value in entry.headers
                    if name.lower() not in anew and not name.startswith(":"))
    if not entry.headers:       # who wrote the HAR kept none
        headers = OF_NO_RECORDING
    if encoding:
        headers += (("Content-Encoding", encoding),)
    if entry.redirect_url and not entry.header("location"):
        headers += (("Location", entry.redirect_url),)
    if entry.mime_type and not entry.header("content-type") and body:
        headers += (("Content-Type", entry.mime_type),)
    return ArchivedAnswer(entry.url, entry.status, entry.reason, headers, body, entry.protocol, entry.started,
                          connect_ms=entry.connect_ms, wait_ms=entry.wait_ms, cut=entry.cut, recoded=recoded)
