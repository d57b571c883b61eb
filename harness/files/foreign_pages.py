"""Which page the requests of a foreign HAR belong to, where each page begins, and when its load event was.

A page's title may be its URL, its title, or nothing; a request may name its frame instead of its page, or, in a frame
of another site, no page; what the page before still waited for may stand before a page's document.
"""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

from harness.files.foreign_entry import ForeignEntry, pairs_of
from harness.files.headers import header_in
from harness.files.moments import moment_of
from harness.files.urls import document_url, without_fragment

UNKNOWN_TYPES = ("", "x-unknown", "text/plain")
"""What HARs say of a document whose type nobody wrote down; x-unknown is Chrome's word."""
OF_NO_PAGE = re.compile(r"\.(?:css|m?js|json|png|gif|jpe?g|webp|svg|ico|woff2?|ttf)(?:[?#]|$)", re.IGNORECASE)
A_LITTLE_S = 0.1
LITTLE_OF_STEP = 0.1
"""Two requests were asked for at once that are closer than both so many seconds and this share of the mean step from
one to the next: a page's requests may all be within 0.1 s."""
OUT_OF_ORDER_RATIO = 0.1
"""A HAR is in another order than that of asking if more than this share of its steps in time lead back."""
INTERIM = frozenset((100, 102, 103))
"""Statuses of answers before the answer (RFC 9110, section 15.2; RFC 8297)."""
LONGEST_LOAD_MS = 86_400_000.0
"""A day: what takes longer to its load event is no time of a page load."""


def page_urls(entries: list[ForeignEntry]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: what its first request asks for.

    Of several loads of one page (first view, repeat view) the first one counts. One that begins with what is no
    document is no page: repeat views begin with what was not in the cache. Nor is what no URL alone asks for (POST).
    One with nothing that can be a document has no page. What names no page is one only where nothing names any.
    """
    of_pages: dict[str, list[ForeignEntry]] = {}
    for entry in entries:
        of_pages.setdefault(entry.page, []).append(entry)
    if len(of_pages) > 1:
        of_pages.pop("", None)
    begins = {page: _beginning(page, of_page) for page, of_page in of_pages.items()}
    begins = {page: entry for page, entry in begins.items() if _may_begin_page(entry)}
    documents = {page: entry for page, entry in begins.items() if _begins_page(entry)}
    urls = {page: without_fragment(entry.url) for page, entry in (documents or begins).items()}
    first: dict[str, str] = {}
    for page, url in urls.items():
        if url not in first.values():
            first[page] = url
    return first


def _beginning(page: str, entries: list[ForeignEntry]) -> ForeignEntry:
    """Return what a page begins with: the first of its `entries`, if it may be that.

    Before it may stand what the browser itself asks for, or what the page before still waited for: there, and in a HAR
    that names no pages (Fiddler's), it is the first document that nothing referred to, if most entries come after it.
    What the page before never got an answer to is not it where the next answer is a document.
    """
    first = entries[0]
    tells_referers = any(map(_referer, entries)) or not any(entry.request_headers for entry in entries)
    if page and not first.status:
        answer = next((entry for entry in entries if _is_answer(entry)), first)
        return answer if _begins_page(answer) and _referer(answer) != first.url else first
    if page and (_may_begin_page(first) or not tells_referers):
        return first
    first_half = entries[:len(entries) // 2 + 1] if page else entries
    return next((entry for entry in first_half if _begins_page(entry) and not _referer(entry)), first)


def _referer(entry: ForeignEntry) -> str:
    return entry.request_header("referer")


def _begins_page(entry: ForeignEntry) -> bool:
    """Say whether a page can begin with this: a document, or a redirect to one."""
    may_be_answer = entry.method == "GET" and entry.status != HTTPStatus.NO_CONTENT
    return may_be_answer and ("html" in entry.mime_type or bool(entry.redirect_url))


def _is_answer(entry: ForeignEntry) -> bool:
    return entry.method == "GET" and entry.status not in (0, HTTPStatus.NO_CONTENT)


def _may_begin_page(entry: ForeignEntry) -> bool:
    """Say whether nothing is against it: its type may be unknown."""
    of_unknown_type = entry.mime_type.partition(";")[0].strip().lower() in UNKNOWN_TYPES
    return _begins_page(entry) or (of_unknown_type and entry.method == "GET" and not OF_NO_PAGE.search(entry.url))


def in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a HAR in the order of asking, without interim answers. One that does not tell when it
    asked stays behind the one that it stands behind.

    HAR 1.2 leaves that to the reader. Firefox and Safari write the requests as their tables show them: by size, say,
    or the last one first. Some of others' stand a little out of order, a document even behind what it asked for, since
    a clock was set or read late (http2/http_samples, shop.ebay.fr): these stay as they are.
    """
    entries = [final for entry in entries if (final := _final(entry)) is not None]
    told_s = [moment.timestamp() if moment else None
              for moment in (moment_of(entry.get("startedDateTime")) for entry in entries)]
    known_s = [time_s for time_s in told_s if time_s is not None]
    if not known_s:
        return entries
    asked_s = list(accumulate(told_s, lambda before, time_s: before if time_s is None else time_s,
                              initial=known_s[0]))[1:]
    little_s = min(A_LITTLE_S, LITTLE_OF_STEP * (max(known_s) - min(known_s)) / len(entries))
    steps_s = [later - earlier for earlier, later in pairwise(asked_s) if abs(later - earlier) > little_s]
    if sum(step_s < 0 for step_s in steps_s) <= OUT_OF_ORDER_RATIO * len(steps_s):
        return entries
    return [entry for _, entry in sorted(zip(asked_s, entries, strict=True), key=itemgetter(0))]


def _final(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return an entry of a HAR; None for an interim answer alone. One with a body is the answer, whose status its
    program overlooked.
    """
    response = entry.get("response") or {}
    if response.get("status") not in INTERIM:
        return entry
    has_body = (response.get("content") or {}).get("text")
    return entry | {"response": response | {"status": HTTPStatus.OK, "statusText": "OK"}} if has_body else None


def page_begins(pages: list[dict[str, Any]]) -> dict[str, datetime | None]:
    """Return when each page was begun, by the page's id; None where that is not known."""
    return {str(page.get("id", "")): moment_of(page.get("startedDateTime")) for page in pages}


def with_pages(entries: list[dict[str, Any]], begins: dict[str, datetime | None]
               ) -> list[tuple[dict[str, Any], str]]:
    """Return the entries of a HAR, each with the id of its page, "" for none.

    Chrome names no page for what a frame of another site asks for. Where other entries name one, such an entry belongs
    to the page of its Referer, or to the page that was begun last before it.
    """
    names_pages = any(entry.get("pageref") for entry in entries)
    page_by_url: dict[str, str] = {}
    found = []
    for entry in entries:
        page = _named_page(entry, begins)
        if names_pages and not page:
            page = page_by_url.get(document_url(_referer_in(entry))) or _begun_before(entry, begins)
        if names_pages and page:
            page_by_url[document_url(str(entry["request"]["url"]))] = page
        found.append((entry, page))
    return found


def _named_page(entry: dict[str, Any], begins: dict[str, datetime | None]) -> str:
    """Return the id of the page that an entry names, "" where it names none.

    The Web Inspectors of 2012 name the frame that asked, by its URL: that belongs to the page that was begun last.
    """
    named = str(entry.get("pageref") or "")
    if not named or not begins or named in begins:
        return named
    return _begun_before(entry, begins) or next(iter(begins))


def _begun_before(entry: dict[str, Any], begins: dict[str, datetime | None]) -> str:
    """Return the id of the page that was begun last before an entry was asked for, "" where none is known to be."""
    asked = moment_of(entry.get("startedDateTime"))
    before = {page: begin for page, begin in begins.items() if asked and begin and begin <= asked}
    return max(before, key=lambda page: before[page]) if before else ""


def _referer_in(entry: dict[str, Any]) -> str:
    return header_in(pairs_of(entry["request"]), "referer")


def without_leftovers(entries: list[ForeignEntry], pages: list[dict[str, Any]]) -> list[ForeignEntry]:
    """Return the entries, those of no page that stand before a page's document, where the HAR says by its URL which
    that is: PhantomJS lists there what the page before still waited for. A redirect may lead to the document.
    """
    named = {(str(page.get("id", "")), document_url(str(page.get(key, ""))))
             for page in pages for key in ("id", "title")}
    is_named = [(entry.page, document_url(entry.url)) in named for entry in entries]
    not_begun = {entry.page for entry, this in zip(entries, is_named, strict=True) if this}
    kept = []
    for entry, this in zip(entries, is_named, strict=True):
        if this or _begins_page(entry):
            not_begun.discard(entry.page)
        kept.append(replace(entry, page="") if entry.page in not_begun else entry)
    return kept


def load_ends(pages: list[dict[str, Any]]) -> dict[str, datetime]:
    """Return when the load event of each page was, by the page's id, where that is known."""
    ends = {}
    for page in pages:
        begin, on_load_ms = moment_of(page.get("startedDateTime")), (page.get("pageTimings") or {}).get("onLoad")
        if begin and isinstance(on_load_ms, (int, float)) and 0 < on_load_ms < LONGEST_LOAD_MS:
            with suppress(OverflowError):       # begun in the year 9999
                ends[str(page.get("id", ""))] = begin + timedelta(milliseconds=on_load_ms)
    return ends


def is_late(entry: ForeignEntry, ends: dict[str, datetime]) -> bool | None:
    """Say whether an entry was asked for after its page's load event; None where `load_ends` does not tell of that."""
    end = ends.get(entry.page)
    return None if end is None else entry.started is not None and entry.started > end
