"""A recording as exchanges with their bodies, page by page."""

import os
from dataclasses import dataclass
from datetime import datetime, timezone
from http import client
from pathlib import Path

from msgspec.structs import replace

from harness.errors import InputError
from harness.files.exchange import Exchange
from harness.files.har import PageTimes, page_times, read_har_log
from harness.files.har_entry import NO_ENTRY, from_har
from harness.files.headers import header_in
from harness.files.pages import Page, PageFiles
from harness.files.urls import document_url, without_fragment
from harness.mirror.headers import OF_NO_RECORDING, content_type
from harness.mirror.paths import open_file
from harness.mirror.recording import read_whole
from harness.system.untrusted import UnreadableFileError


@dataclass(frozen=True)
class RecordedPage:
    """A page with its times, what was answered to its requests, with the bodies, and its WebSockets."""

    page: Page
    times: PageTimes
    answered: list[Exchange]
    live: list[Exchange]


def recorded_pages(files: PageFiles, pages: list[Page]) -> list[RecordedPage]:
    """Return what is recorded of `pages`, in today's format. Raises InputError without a recording."""
    read_whole(files)
    return [_read(files, page) for page in pages]


def _read(files: PageFiles, page: Page) -> RecordedPage:
    """Return what is recorded of a page. Readers of a HAR take the first entry for the page."""
    har = files.fetchlog / f"{page.name}.har"
    try:
        log = read_har_log(har)
        when = datetime.fromtimestamp(har.stat().st_mtime, timezone.utc)
        exchanges = [from_har(entry, page.name) for entry in log["entries"]]
        answered = [_complete(exchange, files.mirror, when) for exchange in exchanges if _has_answer(exchange)]
    except (UnreadableFileError, OSError, *NO_ENTRY) as error:
        raise InputError(f"{har}:1: no recording of {page.url} ({error}); record it with ./fetch.py --append --name "
                         f"{files.mirror.name}") from None
    answered.sort(key=lambda exchange: document_url(exchange.request.url) != document_url(page.url))
    live = [each for each in exchanges if each.answer.messages is not None]
    return RecordedPage(page, page_times(log), answered, live)


def _has_answer(exchange: Exchange) -> bool:
    answer = exchange.answer        # of a WebSocket WARC has no record
    return (exchange.request.url.startswith("http") and answer.messages is None and answer.status not in (0, 304)
            and not exchange.from_cache)


def _complete(exchange: Exchange, mirror: Path, when: datetime) -> Exchange:
    """Return an exchange with its body, and of what nobody knows its headers with those that the replay adds."""
    answer = exchange.answer
    body = _body(mirror, answer.body.file) if answer.body else b""
    if answer.headers is None:
        headers = OF_NO_RECORDING
        if answer.redirect_url:
            headers += (("Location", answer.redirect_url),)
        elif kind := content_type(answer.mime_type, answer.body.file if answer.body else ""):
            headers += (("Content-Type", kind),)
        answer = replace(answer, headers=headers, reason=client.responses.get(answer.status, ""),
                         mime_type=header_in(headers, "content-type"))
    return replace(
        exchange, started=exchange.started or when,
        request=replace(exchange.request, url=without_fragment(exchange.request.url)),
        answer=replace(answer, body=None, content=body, content_bytes=len(body), body_bytes=len(body)))


def _body(mirror: Path, file: str) -> bytes:
    """Return what a file of the mirror holds, ``host/name``: whoever wrote the HAR leads to no other file by it.

    Raises OSError when there is none.
    """
    directory = os.open(mirror, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.fdopen(open_file(directory, file), "rb") as body:
            return body.read()
    finally:
        os.close(directory)
