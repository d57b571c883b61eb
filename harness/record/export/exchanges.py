"""A recording as a list of exchanges with their bodies, page by page, whatever its logs are."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http import HTTPStatus
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.har import is_over_http2, posted_body
from harness.files.headers import Headers, headers_of_har
from harness.files.pages import Page, PageFiles
from harness.files.text_log import PageLog, read_log
from harness.files.urls import document_url, split_url, without_fragment
from harness.mirror.answers import PARTIAL, Recorded
from harness.mirror.bodies import damage
from harness.mirror.content_type import content_type
from harness.mirror.exchanges import is_of_text_log
from harness.mirror.headers import OF_NO_RECORDING
from harness.mirror.paths import open_file
from harness.mirror.recording import Recording, read_recording
from harness.mirror.unlogged import unlogged_answers
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

OF_A_PART = frozenset(("content-range", "content-length", "accept-ranges"))


@dataclass(frozen=True)
class RecordedExchange:
    """One request and its answer. `body` is as on the wire, content-encoded. `entry` is its HAR's, where it has one.

    `captured` is when it was asked for; `whole` is whether all of the answer came.
    """

    page: Page
    method: str
    url: str
    request_headers: Headers
    sent: bytes
    status: int
    reason: str
    headers: Headers
    body: bytes
    http2: bool
    captured: datetime
    whole: bool = True
    entry: dict[str, Any] = field(default_factory=dict)


def recorded_exchanges(directory: Path, name: str, pages: list[Page]) -> Iterator[RecordedExchange]:
    """Give what was answered to each page's requests, in recorded order. Raises InputError without a recording."""
    files = PageFiles(directory, name)
    mirror, fetchlog = files.mirror, files.fetchlog
    recording = read_recording(mirror, fetchlog)
    if damaged := damage(recording.bodies, mirror):
        raise InputError(f"{damaged}; record it again")
    missing = [page for page in pages if not (fetchlog / page.name).is_file()]
    if missing:
        raise InputError(f"{fetchlog / missing[0].name}:1: no log of {missing[0].url}; record it with ./fetch.py "
                         f"--append --name {name}")
    hars = {page: fetchlog / f"{page.name}.har" for page in pages}
    logs = {page.name: read_log(fetchlog / page.name) for page, har in hars.items() if is_of_text_log(har)}
    unlogged = list(unlogged_answers(recording, mirror, logs)) if logs else []
    for page, har in hars.items():
        if page.name not in logs:
            yield from _of_har(har, page, mirror)
        else:
            answers = _in_log_order(recording.transactions(page.name), logs[page.name])
            answers += [answer for answer in unlogged if answer.page == page.name]
            captured = datetime.fromtimestamp((fetchlog / page.name).stat().st_mtime, timezone.utc)
            # Readers of a HAR take the first entry for the page.
            for answer in sorted(answers, key=lambda answer: document_url(answer.url) != document_url(page.url)):
                yield _of_text_log(recording, page, mirror, answer, captured)


def _of_har(har: Path, page: Page, mirror: Path) -> list[RecordedExchange]:
    try:
        entries = read_untrusted_json(har)["log"]["entries"]
        return [_exchange(_as_whole(entry), page, mirror) for entry in entries if _has_answer(entry)]
    except UnreadableFileError as error:
        raise InputError(f"{error}; record the page again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{har}:1: not a HAR of a recording ({error}); record the page again") from None


def _has_answer(entry: dict[str, Any]) -> bool:
    if not str(entry["request"]["url"]).startswith("http"):    # a WebSocket, for which WARC has no record
        return False
    status = entry["response"]["status"]
    return bool(status) and status != HTTPStatus.NOT_MODIFIED and not entry.get("_fromCache")


def _as_whole(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry that answers with all that its file has: where Chrome asked for a part, and all was fetched, the
    recorded head is that of the part, which would put the file's beginning where the part's is.
    """
    response = entry["response"]
    if response["status"] != PARTIAL or not entry.get("_refetched"):
        return entry
    headers = [pair for pair in response["headers"] if str(pair["name"]).lower() not in OF_A_PART]
    whole = {"status": int(HTTPStatus.OK), "statusText": HTTPStatus.OK.phrase,
             "headers": [*headers, {"name": "Accept-Ranges", "value": "bytes"}]}
    return {**entry, "response": {**response, **whole}}


def _exchange(entry: dict[str, Any], page: Page, mirror: Path) -> RecordedExchange:
    request, response = entry["request"], entry["response"]
    return RecordedExchange(
        page=page, method=request["method"], url=without_fragment(request["url"]),
        request_headers=headers_of_har(request["headers"]), sent=posted_body(request.get("postData") or {}),
        status=response["status"],
        reason=response.get("statusText", ""), headers=headers_of_har(response["headers"]),
        body=_body(mirror, entry.get("_file")), http2=is_over_http2(str(response.get("httpVersion", ""))),
        captured=datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00")),
        whole=not entry.get("_partial"), entry=entry)


def _body(mirror: Path, file: str | None) -> bytes:
    """Return what a file of the mirror holds, ``host/name``: whoever wrote the HAR leads to no other file by it.

    Raises UnreadableFileError when it is too large, OSError when there is none.
    """
    if not file:
        return b""
    directory = os.open(mirror, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.fdopen(open_file(directory, file), "rb") as body:
            size = os.fstat(body.fileno()).st_size
            if size > LARGEST_BODY:
                raise UnreadableFileError(mirror / file, f"{size} bytes, more than the {LARGEST_BODY} of a body")
            return body.read()
    finally:
        os.close(directory)


def _in_log_order(answers: list[Recorded], log: PageLog) -> list[Recorded]:
    places = {response.url: place for place, response in reversed([*enumerate(log.responses)])}
    return sorted(answers, key=lambda answer: places.get(answer.url, len(places)))


def _of_text_log(recording: Recording, page: Page, mirror: Path, answer: Recorded, captured: datetime
                 ) -> RecordedExchange:
    """Return an answer of 2013's format: no headers but those that the replay adds, `captured` when its log was."""
    file = answer.file
    body = _body(mirror, file)
    headers = (*OF_NO_RECORDING, ("Location", answer.redirect_url)) if answer.redirect_url else OF_NO_RECORDING
    if file or (answer.answer.mime_type and not answer.redirect_url):
        kind = content_type(answer.answer.mime_type, file or "it.txt", body)
        headers = (*headers, ("Content-Type", kind))
    http2 = answer.url.startswith("https:") and split_url(answer.url)[0] in recording.http2_hosts
    return RecordedExchange(page, "GET", answer.url, (), b"", answer.status, _phrase(answer.status), headers, body,
                            http2, captured)


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus.__members__.values() else ""
