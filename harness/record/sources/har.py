"""HAR files of other programs (HAR 1.1 and 1.2), whatever wrote them.

Each entry is read by one typed schema; what does not fit is one missing entry. A HAR has bodies decoded: so that as
many bytes cross the network as did then, they are compressed again as their Content-Encoding says, at the level that
comes nearest to the recorded size.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
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
    ResponsePart,
    from_har,
    without_nulls,
)
from harness.files.headers import REDIRECTS, WITHOUT_BODY, header_in
from harness.files.moments import EPOCH
from harness.files.urls import as_browsers_ask, document_url, without_fragment
from harness.mirror.headers import OF_NO_RECORDING
from harness.record.sources.brought import Source
from harness.record.sources.har_bodies import wire_bytes, with_content
from harness.system.untrusted import read_untrusted

MOST_BYTES = 500_000_000
"""Bytes that a HAR may have."""
HTTP = ("http:", "https:")
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


def har_source(path: Path) -> Source:
    """Read a HAR: its exchanges in the order of asking, then its WebSockets and what does not fit.

    Raises InputError when it has no request over http or https, ValueError and others when it is no HAR.
    """
    text = read_untrusted(path, limit=MOST_BYTES).removeprefix(BOM_UTF8)
    log = msgspec.json.decode(text, type=Har, strict=False).log
    asked, live, wrong = list[tuple[Exchange, ResponsePart]](), list[Exchange](), list[str]()
    for raw in log.entries:
        try:
            exchange, response = _read(raw)
        except (*NO_ENTRY, RecursionError) as error:
            wrong.append(str(error))
            continue
        url = exchange.request.url
        if url.startswith(("ws:", "wss:")) and exchange.answer.messages is not None:
            live.append(exchange)
        elif url.startswith(HTTP) and exchange.answer.status not in INTERIM:
            asked.append((exchange, response))
    if not asked:
        raise InputError(f"{path}:1: no request over http or https in it{f' ({wrong[0]})' if wrong else ''}; give the "
                         "HAR of a page load")
    # In the order of asking: Firefox and Safari write them as their tables show them.
    asked.sort(key=lambda each: each[0].started or EPOCH)
    # Chrome names no page for what a frame of another site asks for: it is taken for that of the request before.
    page = next((exchange.page for exchange, _ in asked if exchange.page), "")
    charsets: dict[str, str] = {}       # by page: what its document names
    for number, (exchange, response) in enumerate(asked):
        page = exchange.page or page
        asked[number] = replace(exchange, page=page), response
        if "html" in (kind := _type_of(exchange)) and (named := charset_of(response.content.text or "", kind)):
            charsets.setdefault(page, named)
    pages = log.pages or []
    load_ends = {page.id: end_s for page in pages if (end_s := load_end_s(page)) < inf}
    return Source(
        chain(_with_bodies(asked, charsets, load_ends), live,
              [Exchange(request=Request("", ""), error=NO_FIT)] * len(wrong)),
        page_urls([exchange for exchange, _ in asked], {page.id: page.title for page in pages if page.title}),
        load_ends)


def _with_bodies(asked: Iterable[tuple[Exchange, ResponsePart]], charsets: Mapping[str, str],
                 load_ends: Mapping[str, float]) -> Iterator[Exchange]:
    for known, response in asked:
        exchange = with_content(known, response, charsets.get(known.page, ""))
        is_late = known.started is not None and known.started.timestamp() > load_ends.get(known.page, inf)
        yield replace(exchange, fate=Fate.AFTER_LOAD if is_late else Fate.COUNTED)


def _read(raw: msgspec.Raw) -> tuple[Exchange, ResponsePart]:
    """Return an entry without its body, and its response. Raises one of NO_ENTRY, or RecursionError."""
    entry = msgspec.convert(without_nulls(msgspec.json.decode(raw)), Entry, strict=False)
    found = from_har(msgspec.to_builtins(entry), entry.pageref)
    url, answer, asked = as_browsers_ask(found.request.url), found.answer, found.request
    # Safari gives a GET after a form the form's own body.
    request = replace(asked, url=url, body=b"" if asked.method in ("GET", "HEAD") else asked.body)
    if not url.startswith(HTTP):
        return replace(found, request=request), entry.response
    headers = answer.headers or OF_NO_RECORDING
    redirect = answer.redirect_url or header_in(headers, "location")
    return replace(
        found, request=request,
        handshake_ms=found.handshake_ms or None,        # over a connection that was there already it took none (0)
        answer=replace(
            answer, protocol=protocol_of(entry), headers=headers, messages=None,
            mime_type=answer.mime_type or header_in(headers, "content-type"),
            redirect_url=as_browsers_ask(redirect, url) if redirect and answer.status in REDIRECTS else "",
            body_bytes=wire_bytes(entry.response, headers))), entry.response


def _type_of(exchange: Exchange) -> str:
    """Return the Content-Type of an answer, lower case."""
    return (exchange.answer.header("content-type") or exchange.answer.mime_type).lower()


def page_urls(exchanges: Sequence[Exchange], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: what its title says, if that was asked for, or else the
    first document that nothing referred to, or that stands first, with most requests after it. A recording that began
    later has none. Of several loads of one page (first view, repeat view) the first one counts.
    """
    found: dict[str, str] = {}
    for page in dict.fromkeys(each.page for each in exchanges):
        entries = [each for each in exchanges if each.page == page]
        urls = [without_fragment(each.request.url) for each in entries]
        documents = (url for place, (each, url) in enumerate(zip(entries, urls, strict=True))
                     if 2 * place <= len(urls) and _is_document(each)
                     and not (place and each.request.header("referer")))
        title = document_url(titles.get(page, ""))
        url = title if title in urls else next(documents, "")
        if url and url not in found.values():
            found[page] = url
    return found


def _is_document(exchange: Exchange) -> bool:
    """Say whether a page can begin with it: a document, or a redirect to one."""
    return (exchange.request.method == "GET" and exchange.answer.status not in WITHOUT_BODY
            and ("html" in _type_of(exchange) or bool(exchange.answer.redirect_url)))


def load_end_s(page: PagePart) -> float:
    """Return when the load event of a page was, in s since the epoch; infinity where that is not known."""
    times = page_times({"pages": [msgspec.to_builtins(page)]})
    return times.load_event_s if times.on_load_ms else inf


def protocol_of(entry: Entry) -> str:
    """Return over which protocol an entry went, "" where nobody knows: WebPageTest says it in `protocol` alone."""
    named = (entry.response.version or entry.request.version).upper()
    if any(pair.name.startswith(":") for pair in entry.request.headers) or any(
            map(is_over_http2, (named, entry.protocol))):
        return H2
    return named if named in ("HTTP/1.0", "HTTP/1.1") else ""
