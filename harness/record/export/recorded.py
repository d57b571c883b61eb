"""A recording as exchanges with their bodies, page by page."""

import os
from http import HTTPStatus
from http.client import responses

from msgspec.structs import replace

from harness.errors import InputError
from harness.files.exchange import Exchange
from harness.files.har import LoadLog, read_har
from harness.files.headers import header_in
from harness.files.pages import Page, PageFiles
from harness.files.urls import document_url, without_fragment
from harness.mirror.headers import OF_NO_RECORDING, content_type
from harness.mirror.paths import open_file
from harness.mirror.recording import read_whole
from harness.system.untrusted import UnreadableFileError


def recorded_pages(files: PageFiles, pages: list[Page]) -> list[LoadLog]:
    """Return what is recorded of each of `pages`, in today's format: what was answered, then its WebSockets.

    Raises InputError without a recording.
    """
    read_whole(files)
    mirror = os.open(files.mirror, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return [_read(files, page, mirror) for page in pages]
    finally:
        os.close(mirror)


def _read(files: PageFiles, page: Page, mirror: int) -> LoadLog:
    """Return what is recorded of a page. Readers of a HAR take the first entry for the page."""
    har, problems = files.fetchlog / f"{page.name}.har", list[str]()
    try:
        log = read_har(har, page.name, problems)
        if problems:
            raise UnreadableFileError(har, problems[0])
        found = [each if is_live(each) else _complete(each, mirror) for each in log.exchanges
                 if is_live(each) or _has_answer(each)]
    except (UnreadableFileError, OSError) as error:
        raise InputError(f"{har}:1: no recording of {page.url} ({error}); record it with ./fetch.py --append --name "
                         f"{files.mirror.name}") from None
    found.sort(key=lambda each: (is_live(each), document_url(each.request.url) != document_url(page.url)))
    return LoadLog(log.times, tuple(found))


def is_live(exchange: Exchange) -> bool:
    """Say whether it is a WebSocket's."""
    return exchange.answer.messages is not None


def _has_answer(exchange: Exchange) -> bool:
    return (exchange.request.url.startswith("http") and not exchange.from_cache
            and exchange.answer.status not in (0, HTTPStatus.NOT_MODIFIED))


def _complete(exchange: Exchange, mirror: int) -> Exchange:
    """Return an exchange with its body, and of what nobody knows its headers with those that the replay adds.

    Whoever wrote the HAR leads to no file outside of the mirror by it. Raises OSError when there is none.
    """
    answer, content = exchange.answer, b""
    if answer.body:
        with os.fdopen(open_file(mirror, answer.body.file), "rb") as file:
            content = file.read()
    if answer.headers is None:
        kind = content_type(answer.mime_type, answer.body.file if answer.body else "")
        more = ("Location", answer.redirect_url) if answer.redirect_url else ("Content-Type", kind)
        headers = (*OF_NO_RECORDING, *([more] if more[1] else []))
        answer = replace(answer, headers=headers, reason=responses.get(answer.status, ""),
                         mime_type=header_in(headers, "content-type"))
    return replace(
        exchange, request=replace(exchange.request, url=without_fragment(exchange.request.url)),
        answer=replace(answer, body=None, content=content, content_bytes=len(content), body_bytes=len(content)))
