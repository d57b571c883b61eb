"""Recordings of 2013's format, text logs alone, brought into today's.

    fetch.py --from NAME        writes NAME.fetchlog/<page>.har and manifest.json; the text logs stay as they are

A text log has the words of a status line, not its code; neither methods nor headers; and it does not say where a body
is: that its name says (harness.mirror.paths). The scraper of 2013 asked for each URL of its log once more, followed
redirects, and stored the body that it got in the end under the URL that it had asked for: ``www.wsj.com/index.html`` is
the body of ``online.wsj.com/home-page``. So

- if a redirect ends at a recorded URL without a file, that URL has the file of the URL that led to it;
- if a redirect leads to a URL that was not recorded, the file of the first URL is the answer to the first URL.

A page that has no HAR yet is read from its text log. Each HAR is written in one step: where it is broken off, the
others are written the next time. What a program makes itself is written likewise.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin

from msgspec.structs import replace

from harness.errors import many
from harness.files.exchange import H2, Answer, Body, Exchange, Fate, Place, Request, place_of
from harness.files.har import CHARSET, har_log, to_har
from harness.files.headers import REDIRECTS, WITHOUT_BODY
from harness.files.pages import PageFiles, sanitise
from harness.files.text_log import PageLog, Response, Transaction, format_log, read_log
from harness.mirror.exchanges import PageExchanges, files_of, har_of, not_replayed, page_logs, read_page, replayed_place
from harness.mirror.manifest import MANIFEST, MANIFEST_FORMAT, bodies_of, body_in, read_manifest
from harness.mirror.paths import lookups, write_file
from harness.system.atomic import write_atomically

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


def read_pages(fetchlog: Path, bodies: Mapping[str, Body], problems: list[str], http2_hosts: Collection[str] = ()
               ) -> list[PageExchanges]:
    """Return what a recording's pages asked for and got; one without a HAR as if it had been brought in.

    Adds a line to `problems` for each thing that cannot be read. `bodies` are the mirror's, by their files. The hosts
    `http2_hosts` speak HTTP/2: text logs do not tell.
    """
    pages = [read_page(har_of(log), problems) if har_of(log).is_file() else
             _read_text(log, bodies, http2_hosts, problems) for log in page_logs(fetchlog)]
    return _with_ends([page for page in pages if page is not None], bodies)


def _read_text(log: Path, bodies: Mapping[str, Body], http2_hosts: Collection[str], problems: list[str]
               ) -> PageExchanges:
    text = read_log(log)
    problems += text.problems
    late, found = text.urls_after_load(), []
    for response in text.responses:
        fate = Fate.AFTER_LOAD if response.url in late else Fate.COUNTED
        bare = Exchange(page=log.name, request=Request("GET", response.url), fate=fate)
        place = replayed_place(bare)
        if place is None:
            problems.append(not_replayed(log, response.url))
        else:
            protocol = H2 if place.scheme == "https" and place.host in http2_hosts else "HTTP/1.1"
            found.append(replace(bare, answer=_answer(response, place, protocol, bodies)))
    return PageExchanges(log.name, found)


def _answer(response: Response, place: Place, protocol: str, bodies: Mapping[str, Body]) -> Answer:
    """Return the answer that a row of a text log stands for."""
    redirect = urljoin(response.url, response.redirect_url) if response.redirect_url is not None else ""
    _, mark, fragment = response.url.partition("#")
    body = _body_at(place, bodies, f"{place.target}{mark}{fragment}")
    status = status_code(response.status, redirect, body is not None)
    mime_type = response.mime_type + (f"{CHARSET}{response.charset}" if response.charset and not redirect else "")
    return Answer(status, response.status, protocol, headers=None, mime_type=mime_type, redirect_url=redirect,
                  body=None if redirect or status in WITHOUT_BODY else body)


def _body_at(place: Place, bodies: Mapping[str, Body], target: str = "") -> Body | None:
    """Return the body of a URL by the name of its file; `target` has the URL's fragment, too."""
    names = (f"{place.host}/{name}" for name in lookups(target or place.target))
    return next((bodies[name] for name in names if name in bodies), None)


def _with_ends(pages: list[PageExchanges], bodies: Mapping[str, Body]) -> list[PageExchanges]:
    """Return the pages, with each redirect of a text log made to end somewhere."""
    last = {place_of(exchange.request.url): exchange for page in pages for exchange in page.exchanges}
    ends: dict[Place, Body] = {}
    """The bodies of the URLs at which redirects end, and of the redirects that end at none."""
    for exchange in (each for page in pages for each in page.exchanges if _redirects(each)):
        place = place_of(exchange.request.url)
        if (body := _body_at(place, bodies)) is not None:
            ends.setdefault(_end(exchange, last) or place, body)
    return [PageExchanges(page.page, [_ended(each, ends.get(place_of(each.request.url))) for each in page.exchanges],
                          page.load_event_s) for page in pages]


def _redirects(exchange: Exchange) -> bool:
    return exchange.answer.headers is None and bool(exchange.answer.redirect_url)


def _ended(exchange: Exchange, body: Body | None) -> Exchange:
    """Return an exchange with the body that the scraper stored for where it redirects to, or for what leads to it."""
    answer, redirects = exchange.answer, _redirects(exchange)
    if body is None or not (redirects or (answer.status == 200 and not answer.body and answer.content_bytes)):
        return exchange
    return replace(exchange, answer=replace(
        answer, status=200, mime_type="" if redirects else answer.mime_type, redirect_url="", body=body))


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
    """Bring a recording of 2013's format into today's; return in a line that it was, "" when it was in it already.

    Raises OSError when it cannot be written.
    """
    logs, manifest = page_logs(files.fetchlog), read_manifest(files.fetchlog, [])
    if manifest.content and all(har_of(log).is_file() for log in logs):
        return ""
    complete(files.fetchlog, files.mirror, manifest.source, manifest.content)
    return f"{files.fetchlog.name}/ is of 2013's format, and was brought into today's: {many(len(logs), 'page')}"


def complete(fetchlog: Path, mirror: Path, source: str, more: Mapping[str, object], http2_hosts: Collection[str] = ()
             ) -> None:
    """Complete a recording: a page that has a text log alone gets a HAR, and the recording its manifest.

    That has its `source`, what `more` there is to say, and the bodies that no exchange names; without those whose name
    JSON cannot hold, as in a file system that is not UTF-8.
    """
    # Raises InputError before a HAR is written that lacks what is in there.
    files = files_of(mirror) if not mirror.is_dir() or any(mirror.iterdir()) else {}
    bodies = {name: body_in(mirror, name) for host, names in files.items() for name in
              (f"{host}/{file}" for file in names) if name.encode("utf-8", "replace").decode() == name}
    pages = read_pages(fetchlog, bodies, [], http2_hosts)
    for page in pages:
        if not (har := fetchlog / f"{page.page}.har").is_file():
            write_atomically(har, json.dumps(har_log(page.page, [*map(to_har, page.exchanges)])))
    unnamed = {name: {"bytes": bodies[name].bytes, "sha256": bodies[name].sha256}
               for name in bodies.keys() - bodies_of(pages).keys()}
    write_atomically(fetchlog / MANIFEST, json.dumps({**more, "format": MANIFEST_FORMAT, "source": source,
                                                      "bodies": dict(sorted(unnamed.items()))}, indent=1) + "\n")


@dataclass(frozen=True)
class MadeResource:
    """What a URL answers: a MIME type, and a body, in UTF-8 if it is text."""

    mime_type: str
    body: bytes


def write_small_recording(files: PageFiles, resources: Mapping[str, MadeResource]) -> None:
    """Write list, mirror and fetchlog of one page: the first URL of `resources`, which are all that it asks for.

    The manifest says that it was made.
    """
    page = next(iter(resources))
    for url, resource in resources.items():
        write_file(files.mirror, url, resource.body)
    log = PageLog([], [Transaction(0, 1, url) for url in resources],
                  [Response("OK", resource.mime_type, "utf-8", url, None) for url, resource in resources.items()], True)
    files.fetchlog.mkdir()
    (files.fetchlog / sanitise(page)).write_text(format_log(log), encoding="ascii")
    complete(files.fetchlog, files.mirror, "made", {})
    files.pages.write_text(f"{page}\n", encoding="ascii")
