"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from harness.errors import InputError
from harness.files.charsets import charset_of, encode_text
from harness.files.encoding import decode
from harness.files.exchange import UNKNOWN, Answer, Exchange, Fate, Phases, Request
from harness.files.har import STILL_ENCODED, from_base64, is_base64, posted_body
from harness.files.har_file import HarFile, read_har_file
from harness.files.har_times import time_ms
from harness.files.headers import REDIRECTS, WITHOUT_BODY, header_in
from harness.files.looks import Fit, Role, fit
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask
from harness.record.sources.body import CACHED, NOISE, Body, as_sent, role_in, with_coding
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
    transferred,
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
NOTHING_ENCODED, LARGEST_HEAD = 64, 8192
"""Bytes that an empty body can have (20 in gzip), and that a response's head can have, cookies and all."""
LEAST_OF_BODY, LEAST_OF_LARGE, LARGE_BYTES = 0.45, 0.95, 2**20
"""A body of less than this share of the told size is not all. A small text may be kept in two bytes a character."""
MOST_OF_BODY, A_LITTLE = 1.02, 64
"""A body with more than so much of the told size, and so many bytes beside, is another: a HAR may be edited."""
NO_BODY, NO_FIT = "the HAR does not have its body", "an entry does not have HAR's form"


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
        return self._with_body(known, entry, response, content)

    def _with_body(self, known: Exchange, entry: Entry, response: ResponsePart, content: Content) -> Exchange:
        """Return an exchange with its body, or the error that says why it is missing."""
        answer = known.answer
        named = answer.header("content-encoding")
        has_text = content.text is not None or content.file is not None
        # What was pushed has no status, and a 304's body was in the cache.
        status = HTTPStatus.OK if content.text and answer.status in (0, HTTPStatus.NOT_MODIFIED) else answer.status
        if status == HTTPStatus.NOT_MODIFIED:
            return replace(known, error=CACHED)
        is_empty = status in (*WITHOUT_BODY, *REDIRECTS) or known.request.method == "HEAD"
        if not status or is_empty or (not has_text and answer.content_bytes == 0):
            return _completed(known, status, Body(b"", answer.header("content-encoding") if is_empty else ""))
        size, is_counted = _decoded_bytes(known, entry, content, named)
        readings = list(self._readings(content, known, size))
        if readings and str(content.comment).startswith(STILL_ENCODED):     # as our own exports say
            return _completed(known, status, Body(readings[0], named))
        if not readings or (not any(readings) and _is_lost(answer, response)):
            return replace(known, error=NO_BODY, answer=replace(answer, content_bytes=answer.content_bytes or UNKNOWN))
        role = role_in(status, answer.headers or (), known.request.url, answer.mime_type)
        body = as_sent(readings, named, role, answer.body_bytes if named else UNKNOWN, size=size, is_decoded=True)
        if body is None or not _can_have_size(body, size, role, content.text or "", is_counted=is_counted):
            return replace(known, error=NOISE)
        return _completed(known, status, body)

    def _readings(self, content: Content, known: Exchange, size: int) -> Iterator[bytes]:
        """Give what the text of a body can stand for, what the HAR says first: base64, a text, base64 that nobody
        names, bytes as characters of Latin-1.
        """
        def encoded(text: str) -> bytes:
            return encode_text(text, known.answer.header("content-type") or known.answer.mime_type, size=size,
                               page_charset=self._charsets.get(known.page, ""))

        if content.file is not None:
            attached = self._file.attached(content.file)
            if attached is not None:
                yield _as_served(attached, encoded)
            return
        if content.text is None:
            return
        text = content.text
        in_base64, claimed, plain = from_base64(text), is_base64({"encoding": content.encoding}), encoded(text)
        if claimed and in_base64 is not None:
            yield in_base64
        if not claimed or in_base64 is None or len(plain) == size:
            yield plain
        if in_base64 and not claimed and (len(in_base64) == size or fit(Role.ANY, in_base64) is Fit.CERTAIN):
            yield in_base64
        if not text.isascii() and all(character <= "\xff" for character in text):
            yield text.encode("latin-1")

    def _sent(self, request: RequestPart) -> bytes:
        """Return what was sent. Safari gives a GET after a form the form's own."""
        posted = request.posted
        if posted is None or request.method.upper() in ("GET", "HEAD"):
            return b""
        there = self._file.attached(posted.file) if posted.file else None
        length = header_in(pairs_of(request.headers), "content-length")
        labels = {"text": posted.text, "encoding": posted.encoding, "_encoding": posted.own_encoding}
        size = int(length) if length.isdigit() else int(request.body_bytes or UNKNOWN)
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


def _completed(known: Exchange, status: int, body: Body) -> Exchange:
    """Return an exchange with this status and body."""
    answer = known.answer
    headers = answer.headers
    if headers is not None:
        headers = with_coding(headers, body.coding)
        if answer.redirect_url and not header_in(headers, "location"):
            headers += (("Location", answer.redirect_url),)
        if answer.mime_type and not header_in(headers, "content-type") and body.content:
            headers += (("Content-Type", answer.mime_type),)
    reason = answer.reason if status == answer.status else HTTPStatus(status).phrase
    return replace(known, note=body.note, answer=replace(
        answer, status=status, reason=reason, headers=headers, content=body.content,
        content_bytes=len(body.content) if answer.content_bytes < 0 else answer.content_bytes))


def _decoded_bytes(known: Exchange, entry: Entry, content: Content, named: str) -> tuple[int, bool]:
    """Return how large a body is decoded, 0 where nobody knows, and whether its sizes are known to be its own."""
    answer = known.answer
    is_plain = answer.headers is not None and not named and answer.status == HTTPStatus.OK
    length = answer.header("content-length")
    size = int(entry.content_bytes or 0) or max(int(content.size or 0),
                                                int(length) if is_plain and length.isdigit() else 0)
    if size <= 0 and is_plain:
        size = answer.body_bytes
    is_of_encoded = bool(named) and not 0 < answer.body_bytes < size     # as Firefox and mitmproxy write it
    return max(0, size), (is_plain or bool(named)) and not is_of_encoded


def _can_have_size(body: Body, size: int, role: Role, text: str, *, is_counted: bool) -> bool:
    """Say whether a body can have the size that is told."""
    plain, _ = decode(body.content, body.coding)
    got = len(plain)
    if size <= 0 or size in (got, len(text)):
        return True
    is_text = role is not Role.PICTURE and got < LARGE_BYTES
    if got < (LEAST_OF_BODY if is_text else LEAST_OF_LARGE) * size:
        return False
    return not is_counted or min(got, len(plain.decode("utf-8", "replace"))) <= MOST_OF_BODY * size + A_LITTLE


def _is_lost(answer: Answer, response: ResponsePart) -> bool:
    """Say whether an answer whose body is empty here had one: Chrome has none of what a script read as a blob."""
    if answer.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return False
    length = answer.header("content-length")
    if length.isdigit():
        return int(length) > (NOTHING_ENCODED if answer.header("content-encoding") else 0)
    return transferred(response) > LARGEST_HEAD


def _as_served(attached: bytes, encoded: Callable[[str], bytes]) -> bytes:
    """Return the bytes of an attached body as its server sent them: Playwright keeps every text in UTF-8."""
    try:
        return encoded(attached.decode("utf-8")) if attached else attached
    except UnicodeDecodeError:
        return attached

