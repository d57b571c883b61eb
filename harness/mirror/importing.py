"""Recordings of older formats, brought into today's: text logs alone, as in 2013, and HARs that tell no bodies' hashes.

    fetch.py --from NAME        writes NAME.fetchlog/<page>.har and manifest.json; the text logs stay as they are

A text log has the words of a status line, not its code; neither methods nor headers; and it does not say where a body
is: that its name says (harness.mirror.paths). The scraper of 2013 asked for each URL of its log once more, followed
redirects, and stored the body that it got in the end under the URL that it had asked for: ``www.wsj.com/index.html`` is
the body of ``online.wsj.com/home-page``. So

- if a redirect ends at a recorded URL without a file, that URL has the file of the URL that led to it;
- if a redirect leads to a URL that was not recorded, the file of the first URL is the answer to the first URL.

What is written is the same however often it is brought in: each file in one step, and the manifest, which says that all
is there, at last. Until then all is read from the text logs again.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from msgspec.structs import replace

from harness.errors import InputError, many
from harness.files.exchange import Answer, Body, Exchange, Fate, Place, Request, place_of
from harness.files.har import CHARSET, H2, NO_ENTRY, body_fields, from_har, har_log, to_har
from harness.files.headers import BODILESS, REDIRECTS, WITHOUT_BODY
from harness.files.pages import PageFiles
from harness.files.text_log import Response, read_log
from harness.mirror.bodies import bodies_of, damage, list_bodies
from harness.mirror.exchanges import (
    OF_TEXT_LOG,
    Files,
    PageExchanges,
    files_of,
    har_of,
    not_replayed,
    page_logs,
    read_page,
    replayed_place,
)
from harness.mirror.manifest import MANIFEST, Manifest, manifest_of, read_manifest
from harness.mirror.paths import find_file
from harness.system.atomic import write_atomically
from harness.system.untrusted import read_untrusted_json

MOST_REDIRECTS = 20
"""Redirects one after the other that are followed: Chrome's limit (net::URLRequest::kMaxRedirects)."""
OLD_PHRASES = {"moved temporarily": 302, "object moved": 302, "redirect": 302, "temporary redirect": 307,
               "internal redirect": 307, "request timeout": 408, "request time-out": 408, "gateway time-out": 504,
               "request-uri too large": 414, "service temporarily unavailable": 503, "server error": 500}
"""Words of RFC 2616, RFC 1945 and of servers of the time, lower case, that http.HTTPStatus does not have."""
PHRASES = {status.phrase.lower(): int(status) for status in HTTPStatus} | OLD_PHRASES


def status_code(status: str, redirect_url: str | None, in_mirror: bool) -> int:
    """Return the status code that belongs to a status line's words.

    For unknown words it is 302 if there is a redirect, else 200 if the body is in the mirror, else 404. A 304 or a part
    only makes sense to the recording browser's request: it is all of the file.
    """
    text = " ".join(status.lower().split())
    number = re.match(r"([2-5]\d\d)\b", text)
    code = int(number.group(1)) if number else PHRASES.get(text)
    if redirect_url:
        return code if code in REDIRECTS else 302
    if code is None or code < 200 or code == HTTPStatus.PARTIAL_CONTENT or code // 100 == 3:
        return 200 if in_mirror else 404            # a redirect to nowhere has a body
    return code


def read_pages(fetchlog: Path, files: Files, manifest: Manifest, problems: list[str]) -> list[PageExchanges]:
    """Return what a recording's pages asked for and got; one of an older format as if it had been brought in.

    Adds a line to `problems` for each thing that cannot be read.
    """
    if manifest.is_current:
        return [page for log in page_logs(fetchlog) if (page := read_page(har_of(log), problems))]
    return [*_with_ends([_read_older(log, files, manifest, problems) for log in page_logs(fetchlog)], files)]


def _read_older(log: Path, files: Files, manifest: Manifest, problems: list[str]) -> PageExchanges:
    har = har_of(log)
    page = read_page(har, problems) if har.is_file() else None
    if page is not None and not page.of_text_log:
        return PageExchanges(page.page, [_named(exchange, files, manifest.bodies) for exchange in page.exchanges],
                             page.load_event_s)
    text = read_log(log)
    problems += text.problems
    late, found = text.urls_after_load(), []
    for response in text.responses:
        try:
            found.append(_of_response(response, log.name, files, manifest, late=response.url in late))
        except ValueError:      # noqa: PERF203
            problems.append(not_replayed(log, response.url))
    return PageExchanges(log.name, found, of_text_log=True)


def _of_response(response: Response, page: str, files: Files, manifest: Manifest, *, late: bool) -> Exchange:
    """Return the exchange that a row of a text log stands for. Raises ValueError where no replay has its URL."""
    redirect = urljoin(response.url, response.redirect_url) if response.redirect_url is not None else ""
    bare = Exchange(page=page, request=Request("GET", response.url), fate=Fate.AFTER_LOAD if late else Fate.COUNTED)
    place = replayed_place(bare)
    if place is None:
        raise ValueError(response.url)
    _, mark, fragment = response.url.partition("#")
    body = _file_of(place, files, f"{place.target}{mark}{fragment}")
    status = status_code(response.status, redirect, body is not None)
    mime_type = response.mime_type + (f"{CHARSET}{response.charset}" if response.charset and not redirect else "")
    protocol = H2 if place.scheme == "https" and place.host in manifest.http2_hosts else "HTTP/1.1"
    return replace(bare, answer=Answer(
        status, response.status, protocol, headers=None, mime_type=mime_type, redirect_url=redirect,
        body=None if redirect or status in WITHOUT_BODY else body))


def _file_of(place: Place, files: Files, target: str = "") -> Body | None:
    """Return the file that a URL's body is in by its name."""
    name = find_file(files.get(place.host, frozenset()), target or place.target)
    return Body(f"{place.host}/{name}") if name else None


def _named(exchange: Exchange, files: Files, bodies: Mapping[str, Body]) -> Exchange:
    """Return an exchange of a HAR with the file of its body, which its URL names where the HAR does not.

    Who had nothing of a body has none of the URL's, but for a GET's 304, which had one before.
    """
    answer, method = exchange.answer, exchange.request.method
    body = answer.body
    if body is None and answer.status not in (0, *WITHOUT_BODY, *REDIRECTS) and method != "HEAD" and (
            answer.content_bytes != 0 or (answer.status == 304 and method == "GET")):
        place = replayed_place(exchange)
        body = _file_of(place, files) if place else None
    if body is None:
        return exchange
    known = bodies.get(body.file) or Body(body.file, body.bytes if body.bytes is not None else _file_bytes(exchange))
    return replace(exchange, answer=replace(answer, body=known))


def _file_bytes(exchange: Exchange) -> int | None:
    """Return how large the file of an answer's body is; None where the HAR tells the size of something else.

    Of what broke off it tells the size of all, of a part that of the part, of what the browser had nothing.
    """
    answer = exchange.answer
    is_of_the_file = answer.body is not None and answer.status not in (*BODILESS, 206) and not (
        answer.partial or exchange.from_cache)
    return answer.body_bytes if is_of_the_file and answer.body_bytes > 0 else None


def _with_ends(pages: list[PageExchanges], files: Files) -> Iterator[PageExchanges]:
    """Give the pages, with each redirect of a text log made to end somewhere."""
    last = {place_of(exchange.request.url): exchange for page in pages for exchange in page.exchanges}
    bodies: dict[tuple[Place, bool], Body] = {}
    """Of the URLs at which redirects end, and of the redirects (True) that end at none."""
    for place, exchange in ((place_of(each.request.url), each) for page in pages for each in page.exchanges):
        body = _file_of(place, files) if _redirects(exchange) else None
        if body is not None:
            end = _end(exchange, last)
            bodies.setdefault((place, True) if end is None else (end, False), body)
    for page in pages:
        ended = [_ended(exchange, bodies.get((place_of(exchange.request.url), _redirects(exchange))))
                 for exchange in page.exchanges]
        yield PageExchanges(page.page, ended, page.load_event_s, page.of_text_log)


def _redirects(exchange: Exchange) -> bool:
    return exchange.answer.headers is None and bool(exchange.answer.redirect_url)


def _ended(exchange: Exchange, body: Body | None) -> Exchange:
    """Return an exchange with the body that the scraper stored for where it redirects to, or for what leads to it."""
    answer = exchange.answer
    lacks_body = answer.status == 200 and not answer.body and answer.content_bytes
    if body is None or not (_redirects(exchange) or lacks_body):
        return exchange
    mime_type = "" if _redirects(exchange) else answer.mime_type
    return replace(exchange, answer=replace(answer, status=200, mime_type=mime_type, redirect_url="", body=body))


def _end(exchange: Exchange, last: Mapping[Place, Exchange]) -> Place | None:
    """Return where a redirect ends: the first recorded URL that does not redirect.

    None when it leads to a URL that was not recorded, or goes in a circle.
    """
    for _ in range(MOST_REDIRECTS):
        try:
            place = place_of(exchange.answer.redirect_url)
        except ValueError:
            return None
        if place not in last:
            return None
        exchange = last[place]
        if not exchange.answer.redirect_url:
            return place
    return None


def import_recording(files: PageFiles) -> str:
    """Bring a recording of an older format into today's; return in a line that it was, "" when it was in it already.

    Raises InputError when its bodies are not all there, or are others now, and OSError when it cannot be written.
    """
    manifest = read_manifest(files.fetchlog, [])
    if manifest.is_current:
        return ""
    bodies = manifest.bodies or bodies_of(read_pages(files.fetchlog, files_of(files.mirror), manifest, []))
    if damaged := damage(bodies, files.mirror):
        raise InputError(f"{damaged}; record it again")
    _write(files.fetchlog, files.mirror, manifest)
    count = len(page_logs(files.fetchlog))
    return f"{files.fetchlog.name}/ is of an older format, and was brought into today's: {many(count, 'page')}"


def write_manifest(fetchlog: Path, mirror: Path, source: str, **more: object) -> None:
    """Complete a recording: its HARs name the file of each body, with size and hash, and are made where there is none.

    The manifest has its `source`, and what `more` there is to say.
    """
    _write(fetchlog, mirror, manifest_of({"source": source, **more}))


def _write(fetchlog: Path, mirror: Path, manifest: Manifest) -> None:
    bodies, files = list_bodies(mirror), files_of(mirror) if any(mirror.iterdir()) else {}
    unnamed = dict(bodies)
    for page in read_pages(fetchlog, files, manifest, []):
        har = fetchlog / f"{page.page}.har"
        archive: dict[str, Any]
        if page.of_text_log:
            archive = har_log(page.page, [*map(to_har, page.exchanges)])
            archive["log"][OF_TEXT_LOG] = True
        else:
            archive = read_untrusted_json(har)
        for entry in archive["log"]["entries"]:
            with suppress(*NO_ENTRY):
                body = _named(from_har(entry), files, bodies).answer.body
                if body is not None:
                    entry.update(body_fields(body))
                    unnamed.pop(body.file, None)
        write_atomically(har, json.dumps(archive))
    write_atomically(fetchlog / MANIFEST, manifest.written(unnamed))
