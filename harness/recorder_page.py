"""One visit turned into a recording: each request with its answer and body, the text log, and the HAR.

What the HAR says beyond harness.har: httpVersion is "h2" where that was spoken, and the address stands at every request
of a shared h2 connection; `_file` (``host/file`` in the mirror) is the body of exactly this answer, still
content-encoded; `_partial` is true when only its beginning came (then `_error` says why), `_refetched` when requests,
not Chrome, brought it. harness.recording_har reads them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.capture import Body, read_bodies
from harness.har import H2, UNKNOWN, har, over_http2
from harness.logs import PageLog, Response, format_log
from harness.netlog import Connection, HttpTransaction, NetLog, cut_off, of_load, page_log, read_netlog
from harness.netlog_connections import host_and_port
from harness.netlog_requests import mime_type_and_charset
from harness.recorder_refetch import Fetched, Refetcher
from harness.recorder_store import Store
from harness.recorder_visit import Visit
from harness.recording import status_code

WITHOUT_BODY = (204, 205, 304)
ABORTED = "net::ERR_ABORTED"


@dataclass
class Answer:
    """One request and what came of it. `note` says in words what is special, for the log."""

    one: HttpTransaction
    over: bool
    """Whether it was over, well or not, when the recording ended."""
    body: bytes | None = None
    """As on the wire, still encoded; None when there is none to keep."""
    whole: bool = True
    refetched: Fetched | None = None
    note: str = ""
    file: str = ""

    @property
    def status(self) -> int:
        """The status code, 0 without an answer."""
        return self.refetched.status if self.refetched and not self.one.status else self.one.status

    @property
    def url(self) -> str:
        """The URL without its fragment."""
        return self.one.url.partition("#")[0]


@dataclass
class PageRecording:
    """All of one visit. Ticks as in harness.netlog."""

    url: str
    visit: Visit
    netlog: NetLog
    start_tick: float
    answers: list[Answer]

    def documents(self) -> list[Answer]:
        """Return the answers that the main frame showed, in order."""
        return [answer for answer in self.answers if answer.one.main_frame and answer.one.redirect_url is None]

    def write(self, store: Store, name: str) -> None:
        """Put bodies, text log and HAR into `store`; `name` is the page's file name."""
        best_first = sorted(self.answers, key=_rank, reverse=True)
        # By URL, so that of two which cannot both have their plain name (/a, /a/b) always the same one has it.
        for answer in sorted(best_first, key=lambda answer: answer.url.partition("//")[2]):
            if answer.body or (answer.body is not None and answer.status == 200):
                try:
                    answer.file = store.put(answer.url, answer.one.method, answer.body)
                except (ValueError, OSError) as error:
                    answer.note = f"its body cannot be kept: {error}"
        (store.fetchlog / name).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return the log in the 2013 format, followed by a line for each answer that is special."""
        log = page_log(self.netlog, self.start_tick, self.visit.end_tick)
        log.responses = [_response(answer) for answer in _in_log_order(self.answers)]
        return format_log(PageLog(log.resolves, log.transactions, log.responses, log.transactions_seen)) + "".join(
            f"note: {answer.one.method} {answer.url}: {answer.note}\n" for answer in self.answers if answer.note)

    def archive(self) -> dict[str, Any]:
        """Return the HAR; to be called after `write`, which says where the bodies are."""
        visit, timing = self.visit, self.visit.timing
        shift = self.netlog.tick(visit.time_origin_ms) - self.start_tick if visit.time_origin_ms else 0.0
        archive = har(self.netlog, self.url, self.start_tick, end_tick=visit.end_tick,
                      on_content_load_ms=_after(timing.get("domContentLoadedEventEnd"), shift),
                      on_load_ms=_after(timing.get("loadEventEnd"), shift),
                      comment=f"recorded by fetch.py as {visit.user_agent}")
        spoken_h2 = {_origin(answer) for answer in self.answers if over_http2(answer.one)}
        shared = {connection.name: connection for connection in self.netlog.connections
                  if connection.requests and connection.ssl}
        for entry, answer in zip(archive["log"]["entries"], self.answers, strict=True):
            _complete(entry, answer)
            if _origin(answer) in spoken_h2 and answer.status:
                _complete_h2(entry, answer, shared.get(host_and_port(answer.url)))
        return archive


def evaluate(url: str, visit: Visit, netlog_file: Path, refetcher: Refetcher | None) -> PageRecording:
    """Read what a visit left behind; `refetcher` fetches what Chrome gave up half way. Raises ExperimentError."""
    netlog = read_netlog(netlog_file)
    bodies = read_bodies(netlog_file)
    documents = [one.start for one in netlog.transactions if one.main_frame and one.start >= visit.start_tick - 5]
    start_tick = float(documents[0]) if documents else visit.start_tick
    answers = [_answer(one, bodies.get((one.source, one.hop)), visit.end_tick)
               for one in of_load(netlog, start_tick, visit.end_tick)]
    if refetcher is not None:
        _refetch(answers, refetcher)
    return PageRecording(url, visit, netlog, start_tick, answers)


def _answer(one: HttpTransaction, body: Body | None, end_tick: float | None) -> Answer:
    answer = Answer(one, over=not cut_off(one, end_tick))
    if not one.status:
        answer.whole = False
        answer.note = one.error if answer.over else "no answer when the recording ended"
    elif one.redirect_url is None and one.status not in WITHOUT_BODY and one.method != "HEAD":
        answer.body = body.wire if body else b""
        length = _header(one, "content-length")
        all_came = int(length) == len(answer.body) if length.isdigit() else not one.error
        answer.whole = answer.over and all_came and _is_all(one)
        if answer.whole and one.error:
            answer.note = f"{one.error} after its last byte"
        elif not answer.over:
            answer.note = f"still arriving when the recording ended; {len(answer.body)} bytes are kept"
        elif not answer.whole:
            answer.note = f"{one.error or 'incomplete'}; {len(answer.body)} bytes are kept"
    return answer


def _is_all(one: HttpTransaction) -> bool:
    """Say whether the answer is not a part of something: 206 is, unless the part is all of it (RFC 9110, 14.4)."""
    if one.status != 206:
        return True
    unit, _, part = _header(one, "content-range").partition(" ")
    where, _, total = part.partition("/")
    return unit == "bytes" and total.isdigit() and where == f"0-{int(total) - 1}"


def _refetch(answers: list[Answer], refetcher: Refetcher) -> None:
    """Fetch again what was given up half way, unless the same URL came whole at another time."""
    whole = {answer.url for answer in answers if answer.whole and answer.one.method == "GET"}
    tried: dict[str, Fetched] = {}
    for answer in answers:
        one = answer.one
        given_up = answer.over and not answer.whole and one.method == "GET" and (one.status or one.error == ABORTED)
        if not given_up or answer.url in whole:
            continue
        if answer.url not in tried:
            tried[answer.url] = refetcher.fetch(one)
        fetched = tried[answer.url]
        if fetched.error or fetched.status not in (one.status or fetched.status, 200):
            answer.note += f"; fetching it again: {fetched.error or f'status {fetched.status}'}"
            continue
        answer.note = f"fetched again by requests after {one.error or 'a part'} ({len(answer.body or b'')} bytes)"
        answer.refetched, answer.whole = fetched, True
        answer.body = None if fetched.status in WITHOUT_BODY or 300 <= fetched.status < 400 else fetched.body


def _in_log_order(answers: list[Answer]) -> list[Answer]:
    """Return the answers with a head in order of completion; a URL's GET last, since readers go by the last.

    Without 304: the body that it stands for was answered, and is logged, before.
    """
    heard = [answer for answer in answers if answer.status and answer.one.status != 304]
    return sorted(heard, key=lambda answer: (answer.one.method == "GET", _end(answer)))


def _rank(answer: Answer) -> tuple[bool, bool, bool, float]:
    """Order bodies by how well they stand for their URL: GET, whole, https, late."""
    return answer.one.method == "GET", answer.whole, answer.one.url.startswith("https:"), _end(answer)


def _end(answer: Answer) -> float:
    return answer.one.end if answer.over and answer.one.end is not None else float("inf")


def _response(answer: Answer) -> Response:
    one, fetched = answer.one, answer.refetched
    if fetched and not one.status:
        mime_type, charset = mime_type_and_charset(list(fetched.headers))
        location = next((value for name, value in fetched.headers if name.lower() == "location"), None)
        return Response(_words(fetched.status, fetched.reason, location), mime_type, charset, answer.url, location)
    return Response(_words(one.status, one.status_text, one.redirect_url), one.mime_type, one.charset, one.url,
                    one.redirect_url)


def _words(status: int, text: str, redirect_url: str | None) -> str:
    """Return the status line's text, with the code before it if a reader would not find the code from the text."""
    return text if status_code(text, redirect_url, in_mirror=True) == status else f"{status} {text}".strip()


def _complete(entry: dict[str, Any], answer: Answer) -> None:
    """Add to a HAR entry what harness.har does not know."""
    one, fetched = answer.one, answer.refetched
    response = entry["response"]
    if answer.whole:
        entry.pop("_error", None)
    if fetched:
        entry["_refetched"] = True
        response["content"]["size"] = UNKNOWN
        response["content"].pop("compression", None)
        if not one.status:
            response |= {"status": fetched.status, "statusText": fetched.reason,
                         "headers": [{"name": name, "value": value} for name, value in fetched.headers]}
        response["bodySize"] = len(fetched.body)
    if answer.file:
        entry["_file"] = answer.file
    if not answer.whole:
        entry["_partial"] = True
    if answer.note:
        entry["comment"] = answer.note


def _complete_h2(entry: dict[str, Any], answer: Answer, connection: Connection | None) -> None:
    """Name the protocol, and the connection that all requests to the host share: the net-log does only at the first."""
    entry["response"]["httpVersion"] = H2
    if not answer.one.from_cache:
        entry["request"]["httpVersion"] = H2
        if connection is not None and "connection" not in entry:
            entry["serverIPAddress"] = connection.address.rpartition(":")[0].strip("[]")
            entry["connection"] = entry["_connectionId"] = str(connection.id)


def _origin(answer: Answer) -> str:
    return answer.url.split("/", 3)[2] if answer.url.startswith("https:") else ""


def _header(one: HttpTransaction, wanted: str) -> str:
    return next((value for name, value in one.response_headers if name.lower() == wanted), "")


def _after(time_ms: float | None, shift_ms: float) -> float | None:
    return time_ms + shift_ms if time_ms else None
