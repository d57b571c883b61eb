"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from harness.errors import InputError
from harness.files.encoding import charset_of
from harness.files.exchange import H2, UNKNOWN, Answer, Exchange, Fate, Phases, Request, is_over_http2
from harness.files.har_entry import (
    Entry,
    Part,
    RequestPart,
    exchanges_of,
    handshake_ms,
    pairs_of,
    posted_body,
    time_ms,
    without_nulls,
)
from harness.files.headers import REDIRECTS, WITHOUT_BODY, header_in
from harness.files.moments import EPOCH, moment_of
from harness.files.packed import read_har_file
from harness.files.urls import as_browsers_ask, document_url, without_fragment
from harness.record.sources.har_bodies import wire_bytes, with_content

INTERIM = (100, 102, 103)
"""Statuses of answers before the answer (RFC 9110, section 15.2; RFC 8297)."""
NO_FIT = "an entry does not have HAR's form"


class PagePart(Part, frozen=True):
    """A page; `load_times` in ms since it was begun."""

    id: str
    title: str | None = None
    started: str | float | None = msgspec.field(default=None, name="startedDateTime")
    load_times: dict[str, Any] | None = msgspec.field(default=None, name="pageTimings")


class Log(Part, frozen=True):
    """The log, whose entries are read one by one."""

    entries: list[msgspec.Raw]
    pages: list[PagePart] | None = None


class Har(Part, frozen=True):
    """What the file holds."""

    log: Log


class Asked(NamedTuple):
    """A request of a HAR, without the answer's body, and its entry."""

    exchange: Exchange
    entry: Entry

    @property
    def content_type(self) -> str:
        """The answer's type, with a charset behind it or not; "" where nothing is told."""
        return self.exchange.answer.header("content-type") or self.exchange.answer.mime_type

    @property
    def is_document(self) -> bool:
        """Whether a page can begin with it: a document, or a redirect to one."""
        request, answer = self.exchange.request, self.exchange.answer
        return (request.method == "GET" and answer.status not in WITHOUT_BODY
                and ("html" in self.content_type.lower() or bool(answer.redirect_url)))


class HarSource:
    """A HAR: iterate over it for its exchanges, in the order of asking. `pages` are the URLs of its pages by their ids;
    `live` its WebSockets, `load_ends` when each page's load event was.
    """

    remarks: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        """Read all but the bodies. Raises InputError when it has no request over http or https, ValueError and others
        when it is no HAR.
        """
        text, self._attached = read_har_file(path)
        log = msgspec.json.decode(text, type=Har, strict=False).log
        self._wrong: list[str] = []
        pages = log.pages or []
        self.load_ends = {page.id: end for page in pages if (end := load_end(page))}
        self.live: list[Exchange] = []
        self._asked_for = with_pages(in_order([asked for raw in log.entries for asked in self._asked(raw)]))
        self.pages = page_urls(self._asked_for, {page.id: page.title or page.id for page in pages})
        self._charsets = self._page_charsets()
        if not self._asked_for:
            why = f" ({self._wrong[0]})" if self._wrong else ""
            raise InputError(f"{path}:1: no request over http or https in it{why}; give the HAR of a page load")

    def __iter__(self) -> Iterator[Exchange]:
        for exchange, entry in self._asked_for:
            end = self.load_ends.get(exchange.page)
            is_late = end is not None and exchange.started is not None and exchange.started > end
            known = replace(exchange, fate=Fate.AFTER_LOAD if is_late else Fate.COUNTED)
            yield with_content(known, entry, self._attached, self._charsets.get(exchange.page, ""))
        for what in self._wrong:
            yield Exchange(request=Request("", ""), error=f"{NO_FIT}: {what}")

    def _asked(self, raw: msgspec.Raw) -> Iterator[Asked]:
        """Give an entry, if it is what was asked for over http or https, and answered for good or not at all."""
        try:
            entry = msgspec.convert(without_nulls(msgspec.json.decode(raw)), Entry, strict=False)
        except (ValueError, RecursionError) as error:
            self._wrong.append(str(error))
            return
        if entry.messages is not None:
            self.live += exchanges_of([msgspec.to_builtins(entry)], entry.pageref)
        request, response = entry.request, entry.response
        url = as_browsers_ask(request.url)
        if not url.startswith(("http:", "https:")) or response.status in INTERIM:
            return
        headers = pairs_of(response.headers)
        redirect = response.redirect_url or header_in(headers, "location")
        wait_ms = time_ms(entry.timings.get("wait"))
        answer = Answer(
            response.status, response.reason, protocol_of(entry), headers or None,
            response.content.mime_type or header_in(headers, "content-type"),
            as_browsers_ask(redirect, url) if redirect and response.status in REDIRECTS else "",
            content_bytes=int(response.content.size), body_bytes=wire_bytes(response, headers))
        yield Asked(Exchange(
            page=entry.pageref, answer=answer,
            request=Request(request.method.upper(), url, pairs_of(request.headers), self._sent(request)),
            started=moment_of(entry.started), time_ms=time_ms(entry.time) or 0.0,
            phases=Phases(wait=UNKNOWN if wait_ms is None else wait_ms),
            # Over a connection that was there already it took no time (0).
            handshake_ms=handshake_ms(entry.connect_ms, entry.timings, entry.time, response.version) or None), entry)

    def _page_charsets(self) -> dict[str, str]:
        """Return the charset that the document of each page names, by the page's id: scripts without one are in it."""
        found: dict[str, str] = {}
        for asked in self._asked_for:
            page = asked.exchange.page
            if "html" in asked.content_type.lower() and page not in found:
                named = charset_of(asked.entry.response.content.text or "", asked.content_type)
                found |= {page: named} if named else {}
        return found

    def _sent(self, request: RequestPart) -> bytes:
        """Return what was sent. Safari gives a GET after a form the form's own."""
        if request.method.upper() in ("GET", "HEAD"):
            return b""
        there = self._attached(request.posted.file) if request.posted.file else None
        return there if there is not None else posted_body(request.posted)


def in_order(asked: Sequence[Asked]) -> list[Asked]:
    """Return the requests in the order of asking: Firefox and Safari write them as their tables show them.

    One that does not tell when it asked stays behind the one that it stands behind.
    """
    times = [*accumulate((each.exchange.started for each in asked), lambda last, own: own or last, initial=EPOCH)]
    return [asked[place] for place in sorted(range(len(asked)), key=times[1:].__getitem__)]


def with_pages(asked: Sequence[Asked]) -> list[Asked]:
    """Return the requests, each with a page, if any has one: Chrome names none for what a frame of another site asks
    for, which is taken for the page's of the request before.
    """
    page = next((each.exchange.page for each in asked if each.exchange.page), "")
    found = []
    for each in asked:
        page = each.exchange.page or page
        found.append(Asked(replace(each.exchange, page=page), each.entry))
    return found


def page_urls(asked: Sequence[Asked], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: that of its document. Of several loads of one page (first
    view, repeat view) the first one counts.
    """
    of_pages: dict[str, list[Asked]] = {}
    for each in asked:
        of_pages.setdefault(each.exchange.page, []).append(each)
    found: dict[str, str] = {}
    for page, entries in of_pages.items():
        url = _document(entries, titles.get(page, ""))
        if url and url not in found.values():
            found[page] = url
    return found


def _document(entries: Sequence[Asked], title: str) -> str:
    """Return the URL of a page's document: what its title says, if that was asked for, or else the first document that
    nothing referred to, or that stands first, with most requests after it. A recording that began later has none.
    """
    urls = [without_fragment(each.exchange.request.url) for each in entries]
    if title and document_url(title) in urls:
        return document_url(title)
    return next((url for place, (each, url) in enumerate(zip(entries, urls, strict=True)) if 2 * place <= len(urls)
                 and each.is_document and not (place and each.exchange.request.header("referer"))), "")


def load_end(page: PagePart) -> datetime | None:
    """Return when the load event of a page was, None where that is not known."""
    begin, on_load_ms = moment_of(page.started), time_ms((page.load_times or {}).get("onLoad"))
    with suppress(OverflowError):
        return begin + timedelta(milliseconds=on_load_ms) if begin and on_load_ms else None
    return None


def protocol_of(entry: Entry) -> str:
    """Return over which protocol an entry went, "" where nobody knows: WebPageTest says it in `protocol` alone."""
    if any(pair.name.startswith(":") for pair in entry.request.headers):
        return H2
    for said in (entry.response.version or entry.request.version, entry.protocol):
        if is_over_http2(said.lower()) or said.lower().startswith("spdy"):
            return H2
        if said.upper() in ("HTTP/1.0", "HTTP/1.1"):
            return said.upper()
    return ""
