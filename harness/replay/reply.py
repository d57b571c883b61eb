"""What a replay server sends for a recorded answer, the same for every version of HTTP: status, headers, body."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf

from harness.browser.program import date_now
from harness.errors import printable
from harness.files.headers import WITHOUT_BODY
from harness.files.server_log import STAND_INS, FoundAs
from harness.mirror.alike import new_names, path_and_query, renamed
from harness.mirror.answers import Recorded
from harness.mirror.headers import OF_NO_RECORDING, OF_THE_BODY, content_type, location
from harness.mirror.live import Arrivals, LiveConnection
from harness.replay.body import Bodies, Piece, stretch, wanted_span
from harness.replay.match import Request, is_known
from harness.replay.site import MISSING, Site

NOT_RECORDED = b"not in the recording\n"
Headers = list[tuple[str, str]]


@dataclass
class Reply:
    """One reply: a head after `think_ms`, and then its body in timed pieces."""

    status: int
    found: str
    headers: Headers = field(default_factory=list)
    body: bytes | None = None
    """None for a status that has none."""
    early_hints: tuple[tuple[str, str], ...] = ()
    """Headers of a 103 (RFC 8297) to send before, over HTTP/2."""
    think_ms: float = 0.0
    """How long the server waits before it sends the first byte: infinity for what hangs until whoever asked leaves."""
    arrivals: Arrivals = ()
    """When, in ms since the head, how much of the body is to be sent; () for as fast as may be."""
    stays_open: bool = False
    """Whether the answer has no end: whoever asked leaves."""
    closes: bool = False
    """Whether the connection ends with it, where HTTP/1.1 would keep it."""
    live: LiveConnection | None = None
    """The WebSocket that was recorded, if it is one."""
    answer: str = "-"
    """The identity of the recorded transaction, see harness.mirror.transactions."""


def reply_to(site: Site, bodies: Bodies, request: Request) -> Reply:
    """Return the reply to a request of `site`; `bodies` has the files."""
    asked = request.asked.headers
    if asked.get("upgrade", "").lower() == "websocket":
        return _websocket(site.live_connection(request) if request.method == "GET" else None)
    answer = site.answer(request)
    if answer.hangs:
        return Reply(0, answer.found, think_ms=inf, answer=answer.identity)
    known = is_known(answer, request)
    is_only_head = known or answer.method == "HEAD"
    pieces = () if is_only_head else _pieces(bodies, answer)
    is_gone = answer.file is not None and not pieces and not is_only_head       # it was there at the start
    if answer is MISSING or is_gone:
        return _made(request)
    reply = Reply(answer.status, answer.found, _headers(answer, asked), think_ms=site.think_ms(answer),
                  closes=answer.closes, answer=answer.identity)
    if known:       # by the client, which gets to hear only that
        reply.status = HTTPStatus.NOT_MODIFIED
        reply.headers = [pair for pair in reply.headers if pair[0] not in (*OF_THE_BODY, "content-length")]
    if not is_only_head:
        reply.early_hints = answer.answer.early_hints
        if answer.status not in WITHOUT_BODY:
            _add_body(reply, answer, request, pieces)
    return reply


def _websocket(live: LiveConnection | None) -> Reply:
    """Return the reply to who wants to open a WebSocket: what was recorded, or that there is none."""
    if live is None:
        return Reply(HTTPStatus.NOT_IMPLEMENTED, FoundAs.LIVE, body=b"")
    status = live.exchange.answer.status
    if status != HTTPStatus.SWITCHING_PROTOCOLS:
        return Reply(status, FoundAs.STATUS, body=b"", closes=True)
    return Reply(status, FoundAs.LIVE, stays_open=True, live=live)


def _add_body(reply: Reply, answer: Recorded, request: Request, pieces: tuple[Piece, ...]) -> None:
    """Say what body the reply has, and how it is sent."""
    if answer.headers is None and (kind := content_type(answer.answer.mime_type, answer.file or "")):
        reply.headers.append(("content-type", kind))
    reply.body = whole = stretch(pieces)
    if not pieces:
        return
    if request.method == "GET":
        _select_part(reply, pieces, answer, request.asked.headers)
    if answer.found in STAND_INS and reply.status == HTTPStatus.OK:
        # One that calls the function its own URL names calls the one that is asked for.
        names = new_names(path_and_query(answer.url), path_and_query(request.target))
        reply.body = renamed(reply.body, dict(reply.headers).get("content-encoding", ""), names) or reply.body
    if answer.arrivals and reply.body is whole and reply.status == answer.status:
        # As it came; one that was asked for in parts, or made, is sent at once.
        reply.arrivals, reply.stays_open = answer.arrivals, answer.answer.partial
        reply.body = whole[:reply.arrivals[-1][1]]


def _select_part(reply: Reply, pieces: tuple[Piece, ...], answer: Recorded, asked: Mapping[str, str]) -> None:
    """Make the reply that of the part that is wanted, if one is."""
    have = len(reply.body or b"")
    size = answer.parts[0].total if answer.parts else have
    span = wanted_span(answer.answer, asked, size)
    if span is None:
        if have < size:     # the parts that were recorded are not all of the body that is asked for
            reply.found = FoundAs.BEST_MATCH
        return
    reply.body = stretch(pieces, span)
    if not reply.body:      # there is no such part, or it was not recorded
        reply.status, part = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "*"
        reply.headers = [pair for pair in reply.headers if pair[0] not in OF_THE_BODY]
    else:
        reply.status, part = HTTPStatus.PARTIAL_CONTENT, f"{span.start}-{span.start + len(reply.body) - 1}"
    reply.headers.append(("content-range", f"bytes {part}/{size}"))


def _made(request: Request) -> Reply:
    """Return the reply to a request that the recording knows nothing like: every page may read that it is missing.

    What a page of another origin asks before it asks (CORS) is allowed: the recording does not say what to allow.
    """
    asked = request.asked.headers
    headers = _readable_by_all(asked)
    if not request.is_preflight:
        return Reply(MISSING.status, MISSING.found, [*headers, ("content-type", "text/plain")], NOT_RECORDED)
    return Reply(204, FoundAs.STATUS, [
        *headers, ("access-control-allow-headers", asked.get("access-control-request-headers", "*")),
        ("access-control-allow-methods", asked.get("access-control-request-method", "*"))])


def _readable_by_all(asked: Mapping[str, str]) -> Headers:
    """Return what lets every origin read an answer; "*" does not cover requests with cookies (Fetch, section 3.3.6)."""
    if "origin" not in asked:
        return list(OF_NO_RECORDING)
    return [("access-control-allow-origin", asked["origin"]), ("access-control-allow-credentials", "true")]


def _headers(answer: Recorded, asked: Mapping[str, str]) -> Headers:
    """Return the recorded headers, with the date of now. A recording without any lets every origin read everything."""
    headers = [("date", date_now()) if name == "date" else (name, value)
               for name, value in (_readable_by_all(asked) if answer.headers is None else answer.headers)]
    if answer.redirect_url and not any(name == "location" for name, _ in headers):
        headers.append(("location", location(answer.redirect_url)))
    return headers


def _pieces(bodies: Bodies, answer: Recorded) -> tuple[Piece, ...]:
    """Return an answer's body as far as its files are there."""
    named = [(part.start, part.file) for part in answer.parts] or ([(0, answer.file)] if answer.file else [])
    return tuple((start, content) for start, name in named if (content := _content(bodies, name)) is not None)


def _content(bodies: Bodies, name: str) -> bytes | None:
    try:
        return bodies.content(name)
    except OSError as error:
        with suppress(OSError):    # nobody reads what we say any more
            print(printable(f"{name}: {error.strerror or error}"), file=sys.stderr)
        return None
