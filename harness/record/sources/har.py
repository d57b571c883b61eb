"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import MAXYEAR, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
from harness.files.headers import REDIRECTS, header_in
from harness.files.moments import moment_of
from harness.files.packed import read_har_file
from harness.files.urls import as_browsers_ask
from harness.record.sources.har_bodies import wire_bytes, with_content
from harness.record.sources.har_pages import Asked, in_order, page_urls, with_pages
from harness.system.untrusted import UnreadableFileError

OF_CERTIFICATES = ("application/ocsp-response", "application/pkix-crl", "application/pkix-cert")
"""What a browser asks of authorities; no page does."""
OF_FIREFOX = re.compile(r".+\.services\.mozilla\.com|(?:snippets|tracking-protection|content-signature(?:-\d)?)"
                        r"\.cdn\.mozilla\.net|aus5\.mozilla\.org|detectportal\.firefox\.com")
"""Hosts that Firefox asks for itself, as proxies write down: updates, lists, whether there is a network."""
INTERIM = (100, 102, 103)
"""Statuses of answers before the answer (RFC 9110, section 15.2; RFC 8297)."""
NO_FIT = "an entry does not have HAR's form"
PROTOCOLS = {"http/1.0": "HTTP/1.0", "1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "1.1": "HTTP/1.1"}
LONGEST_LOAD_MS = 86_400_000.0
"""A day: what takes longer to its load event is no time of a page load."""


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


class HarSource:
    """A HAR: iterate over it for its exchanges, in the order of asking. `pages` are the URLs of its pages by their ids;
    `live` its WebSockets, `load_ends` when each page's load event was.
    """

    remarks: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        """Read all but the bodies. Raises InputError when it is no HAR, or has no request over http or https."""
        try:
            text, self._attached = read_har_file(path)
            log = msgspec.json.decode(text, type=Har, strict=False).log
        except UnreadableFileError as error:
            raise InputError(f"{error}; give the HAR of one page") from None
        except (ValueError, RecursionError, EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path}:1: not a HAR ({str(error)[:160]}); give one as a browser exports it") from None
        self._wrong: list[str] = []
        pages = log.pages or []
        self.load_ends = {page.id: end for page in pages if (end := load_end(page))}
        self.live: list[Exchange] = []
        asked = [asked for raw in log.entries for asked in self._asked(raw)]
        self._asked_for = with_pages(in_order(asked), {page.id: moment_of(page.started) for page in pages})
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
        """Give an entry, if it is what a page asked for over http or https."""
        try:
            entry = msgspec.convert(without_nulls(msgspec.json.decode(raw)), Entry, strict=False)
        except (ValueError, RecursionError) as error:
            self._wrong.append(str(error))
            return
        if entry.messages is not None:
            self.live += exchanges_of([msgspec.to_builtins(entry)], entry.pageref)
        request, response = entry.request, entry.response
        url, is_interim = as_browsers_ask(request.url), response.status in INTERIM
        if (not url.startswith(("http:", "https:")) or OF_FIREFOX.fullmatch(urlsplit(url).hostname or "")
                or (is_interim and not response.content.text)):
            return
        headers = pairs_of(response.headers)
        status = HTTPStatus.OK if is_interim else response.status
        redirect = response.redirect_url or header_in(headers, "location")
        wait_ms = time_ms(entry.timings.get("wait"))
        answer = Answer(
            status, "OK" if is_interim else response.reason, protocol_of(entry), headers or None,
            response.content.mime_type or header_in(headers, "content-type"),
            as_browsers_ask(redirect, url) if redirect and status in REDIRECTS else "",
            content_bytes=int(response.content.size), body_bytes=wire_bytes(response, headers))
        asked = Asked(Exchange(
            page=entry.pageref, answer=answer,
            request=Request(request.method.upper(), url, pairs_of(request.headers), self._sent(request)),
            started=moment_of(entry.started), time_ms=time_ms(entry.time) or 0.0,
            phases=Phases(wait=UNKNOWN if wait_ms is None else wait_ms),
            # Over a connection that was there already it took no time (0).
            handshake_ms=handshake_ms(entry.connect_ms, entry.timings, entry.time, response.version) or None), entry)
        if asked.kind not in OF_CERTIFICATES:
            yield asked

    def _page_charsets(self) -> dict[str, str]:
        """Return the charset that the document of each page names, by the page's id: scripts without one are in it."""
        found: dict[str, str] = {}
        for asked in self._asked_for:
            page = asked.exchange.page
            if "html" in asked.kind and page not in found:
                named = charset_of(asked.entry.response.content.text or "", asked.content_type)
                found |= {page: named} if named else {}
        return found

    def _sent(self, request: RequestPart) -> bytes:
        """Return what was sent. Safari gives a GET after a form the form's own."""
        if request.method.upper() in ("GET", "HEAD"):
            return b""
        there = self._attached(request.posted.file) if request.posted.file else None
        return there if there is not None else posted_body(request.posted)


def has_bodies(exchanges: Sequence[Exchange], pages: Mapping[str, str]) -> bool:
    """Say whether most of the answers that have a body have it in the HAR, those of the pages' own URLs among them."""
    answered = [each for each in exchanges if each.answer.status == HTTPStatus.OK and each.answer.content_bytes]
    documents: dict[str, bool] = {}     # the first of each page: scripts may ask for its URL, too
    for each in answered:
        if each.request.url.partition("#")[0] == pages.get(each.page):
            documents.setdefault(each.page, not each.error)
    most = 2 * sum(not each.error for each in answered) > len(answered)
    return bool(answered) and most and (any(documents.values()) or not documents)


def load_end(page: PagePart) -> datetime | None:
    """Return when the load event of a page was, None where that is not known."""
    begin, on_load_ms = moment_of(page.started), time_ms((page.load_times or {}).get("onLoad"))
    if begin is None or on_load_ms is None or not 0 < on_load_ms < LONGEST_LOAD_MS or begin.year == MAXYEAR:
        return None
    return begin + timedelta(milliseconds=on_load_ms)


def protocol_of(entry: Entry) -> str:
    """Return over which protocol an entry went, "" where nobody knows: WebPageTest says it in `protocol_of` alone."""
    if any(pair.name.startswith(":") for pair in entry.request.headers):
        return H2
    for said in (entry.response.version or entry.request.version, entry.protocol):
        name = said.lower()
        if name in PROTOCOLS or is_over_http2(name) or name.startswith("spdy"):
            return PROTOCOLS.get(name, H2)
    return ""
