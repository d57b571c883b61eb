"""Which page each request of a foreign HAR belongs to, and what the URL of each page is.

A page's title may be its URL, its title, or nothing; a request may name its frame instead of its page, or, in a frame
of another site, no page; what the page before still waited for may stand before a page's document.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from itertools import pairwise
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from harness.files.exchange import Exchange
from harness.files.har_entry import Entry
from harness.files.urls import document_url, without_fragment

UNKNOWN_TYPES = ("", "x-unknown", "text/plain")
"""What HARs say of a document whose type nobody wrote down; x-unknown is Chrome's word."""
OF_NO_PAGE = re.compile(r"\.(?:css|m?js|json|png|gif|jpe?g|webp|svg|ico|woff2?|ttf)(?:[?#]|$)", re.IGNORECASE)
OUT_OF_ORDER_RATIO = 0.1
"""A HAR is in another order than that of asking if more than this share of its steps in time lead back."""


class Asked(NamedTuple):
    """A request of a HAR, without the answer's body, and its entry."""

    exchange: Exchange
    entry: Entry

    @property
    def url(self) -> str:
        """What was asked for."""
        return self.exchange.request.url

    @property
    def referer(self) -> str:
        """What referred to it, "" for nothing."""
        return self.exchange.request.header("referer")

    @property
    def content_type(self) -> str:
        """The answer's type, with a charset behind it or not; "" where nothing is told."""
        return self.exchange.answer.header("content-type") or self.exchange.answer.mime_type

    @property
    def kind(self) -> str:
        """The answer's type alone, in lower case."""
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def is_document(self) -> bool:
        """Whether a page can begin with it: a document, or a redirect to one."""
        return self.may_be_page and ("html" in self.kind or bool(self.exchange.answer.redirect_url))

    @property
    def may_be_page(self) -> bool:
        """Whether a URL alone asks for it, and something is shown."""
        return self.exchange.request.method == "GET" and self.exchange.answer.status != HTTPStatus.NO_CONTENT


def in_order(asked: Sequence[Asked]) -> list[Asked]:
    """Return the requests in the order of asking: Firefox and Safari write them as their tables show them.

    One that does not tell when it asked stays behind the one that it stands behind. Some HARs are a little out of
    order, since a clock was read late (http2/http_samples, shop.ebay.fr): these stay as they are.
    """
    at_s, times_s = -inf, []
    for each in asked:
        at_s = each.exchange.started.timestamp() if each.exchange.started else at_s
        times_s.append(at_s)
    back = sum(later < earlier for earlier, later in pairwise(times_s))
    if back <= OUT_OF_ORDER_RATIO * len(asked):
        return list(asked)
    return [asked[place] for place in sorted(range(len(asked)), key=times_s.__getitem__)]


def with_pages(asked: Sequence[Asked], begins: Mapping[str, datetime | None]) -> list[Asked]:
    """Return the requests, each with a page of the HAR's list, if that has any.

    Chrome names no page for what a frame of another site asks for: it is the page's of its Referer, or the page's that
    was begun last before it. `begins` are the moments of that by the page's id.
    """
    if not any(each.exchange.page for each in asked):
        return list(asked)
    by_url: dict[str, str] = {}
    found = []
    for each in asked:
        page = each.exchange.page if each.exchange.page in begins or not begins else ""
        page = page or by_url.get(document_url(each.referer), "") or _begun_before(each.exchange.started, begins)
        if page:
            by_url[document_url(each.url)] = page
        found.append(Asked(replace(each.exchange, page=page), each.entry))
    return found


def _begun_before(moment: datetime | None, begins: Mapping[str, datetime | None]) -> str:
    before = {page: begin for page, begin in begins.items() if moment and begin and begin <= moment}
    return max(before, key=lambda page: before[page]) if before else next(iter(begins), "")


def page_urls(asked: Sequence[Asked], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: that of its document.

    Of several loads of one page (first view, repeat view) the first one counts. One with nothing that can be a document
    has no page. What names no page is one only where nothing names any.
    """
    of_pages: dict[str, list[Asked]] = {}
    for each in asked:
        of_pages.setdefault(each.exchange.page, []).append(each)
    if len(of_pages) > 1:
        of_pages.pop("", None)
    documents = {page: found for page, entries in of_pages.items()
                 if (found := _document(entries, titles.get(page, "")))}
    first: dict[str, str] = {}
    for page, document in documents.items():
        if any(each.is_document for each in documents.values()) and not document.is_document:
            continue
        if (url := without_fragment(document.url)) not in first.values():
            first[page] = url
    return first


def _document(entries: Sequence[Asked], title: str) -> Asked | None:
    """Return what a page begins with: what its title says, or its first request if that may be a document.

    Before it may stand what the browser itself asks for, or what the page before still waited for: then it is the first
    document that nothing referred to, if most entries come after it. (A repeat view begins with a picture: no page.)
    """
    for each in entries:
        if each.may_be_page and title and document_url(each.url) == document_url(title):
            return each
    first, answered = entries[0], next((each for each in entries if each.exchange.answer.status), entries[0])
    if not first.exchange.answer.status and answered.is_document and answered.referer != first.url:
        first = answered        # what the page before never got an answer to
    if first.exchange.page and first.is_document:
        return first
    first_half = entries[:len(entries) // 2 + 1]
    found = next((each for each in first_half if each.is_document and not each.referer), None)
    is_unknown = first.may_be_page and first.kind in UNKNOWN_TYPES and not OF_NO_PAGE.search(first.url)
    return found or (first if first.is_document or is_unknown else None)
