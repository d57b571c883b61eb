"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from harness.errors import InputError
from harness.files.encoding import charset_of
from harness.files.exchange import H2, Exchange, Fate, Request, is_over_http2
from harness.files.har import page_times
from harness.files.har_entry import (
    NO_ENTRY,
    Entry,
    Part,
    RequestPart,
    ResponsePart,
    from_har,
    posted_body,
    without_nulls,
)
from harness.files.headers import REDIRECTS, WITHOUT_BODY, header_in
from harness.files.moments import EPOCH
from harness.files.packed import read_har_file
from harness.files.urls import as_browsers_ask, document_url, without_fragment
from harness.mirror.headers import OF_NO_RECORDING
from harness.record.sources.har_bodies import wire_bytes, with_content

INTERIM = (100, 102, 103)
"""Statuses of answers before the answer (RFC 9110, section 15.2; RFC 8297)."""
NO_FIT = "its entry does not have HAR's form"


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
    """A HAR: iterate over it for its exchanges, in the order of asking, and its WebSockets. `pages` are the URLs of its
    pages by their ids, `load_ends` when each page's load event was, in s since the epoch.
    """

    remarks: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        """Read it. Raises InputError when it has no request over http or https, ValueError and others when it is no
        HAR.
        """
        text, self._attached = read_har_file(path)
        log = msgspec.json.decode(text, type=Har, strict=False).log
        pages = log.pages or []
        self.load_ends = {page.id: end_s for page in pages if (end_s := load_end_s(page)) < inf}
        self._wrong, self._live = list[str](), list[Exchange]()
        # In the order of asking: Firefox and Safari write them as their tables show them.
        found = sorted((each for raw in log.entries if (each := self._exchange(raw))),
                       key=lambda each: each[0].started or EPOCH)
        if not found:
            why = f" ({self._wrong[0]})" if self._wrong else ""
            raise InputError(f"{path}:1: no request over http or https in it{why}; give the HAR of a page load")
        self._found: list[tuple[Exchange, ResponsePart]] = []
        self._charsets: dict[str, str] = {}
        """By page: what its document names."""
        # Chrome names no page for what a frame of another site asks for: it is taken for that of the request before.
        page = next((exchange.page for exchange, _ in found if exchange.page), "")
        for exchange, response in found:
            page = exchange.page or page
            self._found.append((replace(exchange, page=page), response))
            content_type = exchange.answer.header("content-type") or exchange.answer.mime_type
            if "html" in content_type.lower() and (named := charset_of(response.content.text or "", content_type)):
                self._charsets.setdefault(page, named)
        self.pages = page_urls([exchange for exchange, _ in self._found],
                               {page.id: page.title for page in pages if page.title})

    def __iter__(self) -> Iterator[Exchange]:
        for known, response in self._found:
            exchange = with_content(known, response, self._attached, self._charsets.get(known.page, ""))
            is_late = known.started is not None and known.started.timestamp() > self.load_ends.get(known.page, inf)
            yield replace(exchange, fate=Fate.AFTER_LOAD if is_late else Fate.COUNTED)
        yield from self._live
        for _ in self._wrong:
            yield Exchange(request=Request("", ""), error=NO_FIT)

    def _exchange(self, raw: msgspec.Raw) -> tuple[Exchange, ResponsePart] | None:
        """Return an entry without its body, and its response, if it is what was asked for over http or https, and
        answered for good or not at all.
        """
        try:
            entry = msgspec.convert(without_nulls(msgspec.json.decode(raw)), Entry, strict=False)
            found = from_har(msgspec.to_builtins(entry), entry.pageref)
        except (*NO_ENTRY, RecursionError) as error:
            self._wrong.append(str(error))
            return None
        url, answer = as_browsers_ask(found.request.url), found.answer
        if answer.messages is not None and url.startswith(("ws:", "wss:")):
            self._live.append(replace(found, request=replace(found.request, url=url)))
        if not url.startswith(("http:", "https:")) or answer.status in INTERIM:
            return None
        headers = answer.headers or OF_NO_RECORDING
        content_type = header_in(headers, "content-type") or answer.mime_type
        redirect = answer.redirect_url or header_in(headers, "location")
        return replace(
            found, request=replace(found.request, url=url, body=self._sent(entry.request)),
            handshake_ms=found.handshake_ms or None,        # over a connection that was there already it took none (0)
            answer=replace(
                answer, protocol=protocol_of(entry), headers=headers, messages=None,
                mime_type=answer.mime_type or content_type,
                redirect_url=as_browsers_ask(redirect, url) if redirect and answer.status in REDIRECTS else "",
                body_bytes=wire_bytes(entry.response, headers))), entry.response

    def _sent(self, request: RequestPart) -> bytes:
        """Return what was sent. Safari gives a GET after a form the form's own."""
        if request.method.upper() in ("GET", "HEAD"):
            return b""
        there = self._attached(request.posted.file) if request.posted.file else None
        return there if there is not None else posted_body(request.posted)


def page_urls(exchanges: Sequence[Exchange], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: what its title says, if that was asked for, or else the
    first document that nothing referred to, or that stands first, with most requests after it. A recording that began
    later has none. Of several loads of one page (first view, repeat view) the first one counts.
    """
    found: dict[str, str] = {}
    for page in dict.fromkeys(each.page for each in exchanges):
        entries = [each for each in exchanges if each.page == page]
        urls = [without_fragment(each.request.url) for each in entries]
        documents = [url for place, (each, url) in enumerate(zip(entries, urls, strict=True))
                     if 2 * place <= len(urls) and _is_document(each)
                     and not (place and each.request.header("referer"))]
        title = document_url(titles.get(page, ""))
        url = title if title in urls else next(iter(documents), "")
        if url and url not in found.values():
            found[page] = url
    return found


def _is_document(exchange: Exchange) -> bool:
    """Say whether a page can begin with it: a document, or a redirect to one."""
    answer = exchange.answer
    content_type = answer.header("content-type") or answer.mime_type
    return (exchange.request.method == "GET" and answer.status not in WITHOUT_BODY
            and ("html" in content_type.lower() or bool(answer.redirect_url)))


def load_end_s(page: PagePart) -> float:
    """Return when the load event of a page was, in s since the epoch; infinity where that is not known."""
    times = page_times({"pages": [msgspec.to_builtins(page)]})
    return times.load_event_s if times.on_load_ms else inf


def protocol_of(entry: Entry) -> str:
    """Return over which protocol an entry went, "" where nobody knows: WebPageTest says it in `protocol` alone."""
    named = (entry.response.version or entry.request.version, entry.protocol)
    if any(pair.name.startswith(":") for pair in entry.request.headers) or any(map(is_over_http2, named)):
        return H2
    return named[0].upper() if named[0].upper() in ("HTTP/1.0", "HTTP/1.1") else ""
