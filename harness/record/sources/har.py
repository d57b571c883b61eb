"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from harness.errors import InputError
from harness.files.charsets import charset_of
from harness.files.exchange import UNKNOWN, Answer, Exchange, Fate, Phases, Request
from harness.files.har import posted_body
from harness.files.har_file import HarFile, read_har_file
from harness.files.har_times import time_ms
from harness.files.headers import REDIRECTS, header_in, length_in
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask
from harness.record.sources.har_bodies import with_content
from harness.record.sources.har_form import (
    Content,
    Entry,
    Har,
    RequestPart,
    ResponsePart,
    connect_ms_of,
    content_type,
    load_end,
    pairs_of,
    protocol_of,
    wire_bytes,
)
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


class HarSource:
    """A HAR: iterate over it for its exchanges, in the order of asking. `pages` are the URLs of its pages by their ids;
    `live` the entries of WebSockets, each with its page's id, `load_ends` when each page's load event was.
    """

    def __init__(self, path: Path) -> None:
        """Read all but the bodies. Raises InputError when it is no HAR, or has no request over http or https."""
        try:
            file = read_har_file(path)
            log = msgspec.json.decode(file.text, type=Har, strict=False).log
        except UnreadableFileError as error:
            raise InputError(f"{error}; give the HAR of one page") from None
        except (ValueError, RecursionError, EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path}:1: not a HAR ({str(error)[:160]}); give one as a browser exports it") from None
        self._file: HarFile = file
        self._wrong: list[str] = []
        pages = log.pages or []
        self.begins = {page.id: moment_of(page.started) for page in pages}
        self.load_ends = {page.id: end for page in pages if (end := load_end(page))}
        self.live: list[tuple[str, dict[str, Any]]] = []
        asked: list[Asked[Entry]] = []
        for raw in log.entries:
            asked += self._asked(raw)
        self._asked_for = with_pages(in_order(asked), self.begins)
        self.pages = page_urls(self._asked_for, {page.id: page.title or page.id for page in pages})
        self._charsets = self._page_charsets()
        if not self._asked_for:
            raise InputError(f"{path}:1: no request over http or https in it{self._first_problem()}; give the HAR of a "
                             "page load")

    def __iter__(self) -> Iterator[Exchange]:
        for asked in self._asked_for:
            yield self._exchange(asked)
        for what in self._wrong:
            yield Exchange(request=Request("", ""), error=f"{NO_FIT}: {what}")

    def _first_problem(self) -> str:
        return f" ({self._wrong[0]})" if self._wrong else ""

    def _asked(self, raw: msgspec.Raw) -> Iterator[Asked[Entry]]:
        """Give an entry, if it is what a page asked for over http or https."""
        try:
            entry = msgspec.json.decode(raw, type=Entry, strict=False)
        except (ValueError, RecursionError) as error:
            self._wrong.append(str(error))
            return
        page, response = entry.pageref or "", entry.response or ResponsePart()
        if entry.messages is not None:
            self.live.append((page, msgspec.json.decode(raw)))
        url = as_browsers_ask(entry.request.url)
        scheme, host = url.partition(":")[0], urlsplit(url).hostname or ""
        kind = content_type(response).partition(";")[0].strip().lower()
        content = response.content or Content()
        if scheme not in ("http", "https") or OF_FIREFOX.fullmatch(host) or kind in OF_CERTIFICATES:
            return
        if response.status in INTERIM and not content.text:
            return
        redirect = response.redirect_url or header_in(pairs_of(response.headers), "location")
        status = HTTPStatus.OK if response.status in INTERIM else response.status or 0
        yield Asked(entry, page, entry.request.method.upper(), url, status, kind,
                    as_browsers_ask(redirect, url) if redirect and status in REDIRECTS else "",
                    header_in(pairs_of(entry.request.headers), "referer"), moment_of(entry.started))

    def _page_charsets(self) -> dict[str, str]:
        """Return the charset that the document of each page names, by the page's id: scripts without one are in it."""
        found: dict[str, str] = {}
        for asked in self._asked_for:
            response = asked.entry.response or ResponsePart()
            if "html" in asked.kind and asked.page not in found:
                named = charset_of((response.content or Content()).text or "", content_type(response))
                found |= {asked.page: named} if named else {}
        return found

    def _exchange(self, asked: Asked[Entry]) -> Exchange:
        entry, request = asked.entry, asked.entry.request
        response = entry.response or ResponsePart()
        content = response.content or Content()
        headers = tuple(pair for pair in pairs_of(response.headers) if not pair[0].startswith(":"))
        end = self.load_ends.get(asked.page)
        is_late = end is not None and asked.moment is not None and asked.moment > end
        timings = entry.timings or {}
        answer = Answer(
            status=asked.status, reason="OK" if response.status in INTERIM else response.reason or "",
            protocol=protocol_of(entry, response), headers=headers or None,
            mime_type=content.mime_type or header_in(headers, "content-type"), redirect_url=asked.redirect_url,
            content_bytes=UNKNOWN if content.size is None else int(content.size),
            body_bytes=wire_bytes(response, headers))
        known = Exchange(
            page=asked.page, request=Request(asked.method, asked.url, pairs_of(request.headers), self._sent(request)),
            answer=answer, started=asked.moment, time_ms=time_ms(entry.time) or 0.0,
            phases=Phases(wait=UNKNOWN if (wait := time_ms(timings.get("wait"))) is None else wait),
            handshake_ms=connect_ms_of(entry, response), fate=Fate.AFTER_LOAD if is_late else Fate.COUNTED)
        return with_content(known, entry, self._file.attached, self._charsets.get(asked.page, ""))

    def _sent(self, request: RequestPart) -> bytes:
        """Return what was sent. Safari gives a GET after a form the form's own."""
        posted = request.posted
        if posted is None or request.method.upper() in ("GET", "HEAD"):
            return b""
        there = self._file.attached(posted.file) if posted.file else None
        length = length_in(pairs_of(request.headers))
        labels = {"text": posted.text, "encoding": posted.encoding, "_encoding": posted.own_encoding}
        size = int(request.body_bytes or UNKNOWN) if length is None else length
        return there if there is not None else posted_body(labels, size)


def has_bodies(exchanges: Sequence[Exchange], pages: Mapping[str, str]) -> bool:
    """Say whether most of the answers that have a body have it in the HAR, those of the pages' own URLs among them."""
    answered = [each for each in exchanges if each.answer.status == HTTPStatus.OK and each.answer.content_bytes]
    documents: dict[str, bool] = {}     # the first of each page: scripts may ask for its URL, too
    for each in answered:
        if each.request.url.partition("#")[0] == pages.get(each.page):
            documents.setdefault(each.page, not each.error)
    most = 2 * sum(not each.error for each in answered) > len(answered)
    return bool(answered) and most and (any(documents.values()) or not documents)
