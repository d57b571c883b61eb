"""What a replay server sends for a recorded answer, the same for every version of HTTP: status, headers, body."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.content_type import SNIFFED, content_type
from harness.mirror import open_file
from harness.recording import WITHOUT_BODY, Recorded
from harness.recording_har import cookie_names
from harness.replay_headers import OF_THE_BODY, location
from harness.replay_site import MISSING, Site

if TYPE_CHECKING:
    from types import TracebackType

NOT_RECORDED = b"not in the recording\n"
Headers = list[tuple[str, str]]


@dataclass
class Reply:
    """One reply. `size` is its body's in bytes, None for a status that has none; use it as a context to close it.

    The body is read from the file descriptor `file`, or is `text`.
    """

    status: int
    found: str
    headers: Headers = field(default_factory=list)
    size: int | None = None
    file: int | None = None
    text: bytes = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body, `size` at most; none at its end."""
        if self.file is not None:
            return os.read(self.file, size)
        chunk, self.text = self.text[:size], self.text[size:]
        return chunk

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None


def reply_to(site: Site, directory: int | None, method: str, target: str,
             header: Callable[[str], str | None]) -> Reply:
    """Return the reply to a request of `site`, whose files stand below the descriptor `directory`.

    `header` returns a header of the request. Any method gets what was recorded for it, else for GET.
    """
    if method == "OPTIONS":
        return _preflight(site, target, header)
    if (header("Upgrade") or "").lower() == "websocket":    # cannot be recorded, so it is no gap in the recording
        return Reply(501, "status", size=0)
    answer = site.answer(target, method)
    if answer.without and not answer.without[0] <= cookie_names([header("Cookie") or ""]):
        answer = answer.without[1]
    if method in ("GET", "HEAD") and _is_known(answer, header):
        return Reply(304, answer.found, [pair for pair in _headers(answer) if pair[0] not in OF_THE_BODY])
    file = _open(site, directory, answer)
    if answer.file is not None and file is None:    # it was there at the start
        answer = MISSING
    reply = Reply(answer.status, answer.found, _headers(answer), None, file)
    if answer.status in WITHOUT_BODY:
        return reply
    if file is not None:
        reply.size = os.fstat(file).st_size
        if answer.headers is None:
            kind = content_type(answer.mime_type, answer.charset, answer.file or "", os.pread(file, SNIFFED, 0))
            reply.headers.append(("content-type", kind))
        return reply
    reply.text = NOT_RECORDED if answer is MISSING else b""
    reply.size = len(reply.text)
    if answer.headers is None and (reply.text or answer.mime_type):
        reply.headers.append(("content-type", content_type(answer.mime_type, answer.charset, "it.txt", reply.text)))
    return reply


def _headers(answer: Recorded) -> Headers:
    """Return the recorded headers. A recording without any lets every origin read everything."""
    headers: Headers = [("access-control-allow-origin", "*")] if answer.headers is None else list(answer.headers)
    if answer.redirect_url is not None and not any(name == "location" for name, _ in headers):
        headers.append(("location", location(answer.redirect_url)))
    return headers


def _is_known(answer: Recorded, header: Callable[[str], str | None]) -> bool:
    """Say whether the client has this body, as it asks whether it still may use it (RFC 9110, section 13)."""
    recorded = dict(answer.headers or ())
    tags = header("If-None-Match")
    if answer.status != 200:
        return False
    if tags is not None:
        return "etag" in recorded and _opaque(recorded["etag"]) in map(_opaque, tags.split(","))
    since = header("If-Modified-Since")
    return since is not None and since == recorded.get("last-modified")


def _opaque(tag: str) -> str:
    """Return an entity tag without the mark that it is weak, which does not count here."""
    return tag.strip().removeprefix("W/")


def _preflight(site: Site, target: str, header: Callable[[str], str | None]) -> Reply:
    """Allow what a page of another origin asks before it asks (CORS), unless the recording says what to allow."""
    recorded = site.recorded_preflight(target)
    if recorded is not None:
        size = None if recorded.status in WITHOUT_BODY else 0
        return Reply(recorded.status, recorded.found, _headers(recorded), size)
    headers = [("access-control-allow-methods", "*"),
               ("access-control-allow-headers", header("Access-Control-Request-Headers") or "*")]
    if site.has_headers:    # "*" does not cover requests with cookies
        headers = [("access-control-allow-origin", header("Origin") or "*"),
                   ("access-control-allow-credentials", "true"), headers[1],
                   ("access-control-allow-methods", header("Access-Control-Request-Method") or "*")]
    else:
        headers.insert(0, ("access-control-allow-origin", "*"))
    return Reply(204, "status", headers)


def _open(site: Site, directory: int | None, answer: Recorded) -> int | None:
    if answer.file is None or directory is None:
        return None
    try:
        return open_file(directory, answer.file)
    except OSError as error:
        with suppress(OSError):    # nobody reads what we say any more
            print(f"{site.host}: {answer.file}: {error.strerror or error}", file=sys.stderr)
        return None
