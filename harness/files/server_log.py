"""The replay servers' logs: ``serverlogs/<delaynet>-tfo-<0|1>/<host>``, one tab-separated line per request."""

import os
import re
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import msgspec

from harness.system.untrusted import read_untrusted

PLAIN = re.compile("[!-~]+")


class FoundAs:
    """How an answer was found: the words of the column `found`."""

    PLAIN = "plain"
    """What the URL's answer is."""
    REDIRECT = "redirect"
    STATUS = "status"
    """A recorded status other than 200, or an error."""
    MASKED = "masked"
    BEST_MATCH = "best-match"
    ENDED = "ended"
    """What these three mean: harness.replay.match."""
    MISSING = "missing"
    """Not recorded: 404."""
    UNANSWERED = "unanswered"
    """Recorded without an answer, since none came then, or the archive that it was brought from has none: 504, or, with
    the `status` 0, nothing until the client left."""
    LIVE = "live"
    """A connection that stays open, of which only a beginning can be recorded."""
    SILENT = "silent"
    """No answer: a connection without a request, whose `request`, `status` and `bytes` are 0."""


class Early:
    """How early a request was: the words of the column `early`."""

    NO = "-"
    """After the handshake."""
    DATA = "data"
    """In early data (RFC 8446, section 2.3), or in QUIC's (RFC 9001, section 4.6)."""
    SYN = "syn"
    """In early data that came with the SYN, the whole request."""


STAND_INS = frozenset((FoundAs.MASKED, FoundAs.BEST_MATCH, FoundAs.ENDED, FoundAs.LIVE))
"""Ways of finding in which an answer is not the recorded one: it was recorded for another URL or body, or not whole."""
FOUND = STAND_INS | {FoundAs.PLAIN, FoundAs.REDIRECT, FoundAs.STATUS, FoundAs.MISSING, FoundAs.UNANSWERED,
                     FoundAs.SILENT}
Count = Annotated[int, msgspec.Meta(ge=0, lt=10**18)]


class ServerRequest(msgspec.Struct, frozen=True):
    """One request as its server saw it.

    `time_s` is when the request's head was read (for a silent connection: when it was accepted), in s since the epoch.
    `connection` counts the server's accepted connections from 1, `request` the requests on its connection from 1.
    `bytes` of the body were sent, of a WebSocket its frames. `found` is how the answer was found (`FoundAs`).
    `syn_data`: the connection's SYN carried data (TCP Fast Open worked): for https the ClientHello, or its beginning.
    `scheme` is http or https, `protocol` what was spoken in it: HTTP/1.0, HTTP/1.1, h2, or "-" where nothing was.
    `own_ms` is the server's own time for the answer: from `time_s` to the moment its first byte was handed to the
    kernel, less by how much it thought longer than it should have (http_tfo.py --think); None where no byte was.
    `answer` is the identity of the recorded transaction that was sent, the same for exact answers and stand-ins
    (harness.mirror.transactions), "-" where there is none. `early` is whether the request came before the TLS
    handshake was over (`Early`); `resumed`: its connection began with a ticket of an earlier one's.
    """

    host: str
    time_s: float
    connection: Count
    request: Count
    method: str
    path: str
    status: Count
    bytes: Count
    found: str
    syn_data: bool
    scheme: Annotated[str, msgspec.Meta(pattern="^https?$")] = "http"
    protocol: str = "-"
    own_ms: float | None = None
    answer: str = "-"
    early: Annotated[str, msgspec.Meta(pattern="^(-|data|syn)$")] = "-"
    resumed: bool = False

    @property
    def stand_in(self) -> bool:
        """Whether the answer is not the recorded one to this URL."""
        return self.found in STAND_INS


COLUMNS = ServerRequest.__struct_fields__[1:]
"""All but the host, which is the file's name."""
HEADER = "#" + "\t".join(COLUMNS) + "\n"


class RequestLog:
    """A server's log file, as the server's process writes it: every line is one write, so the log is always whole."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending, and begin it with the header. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            if os.fstat(self._file).st_size == 0:
                os.write(self._file, HEADER.encode())
        except OSError as error:        # a full disk
            os.close(self._file)
            raise OSError(error.errno, error.strerror, str(path)) from None

    def write(self, request: ServerRequest) -> None:
        """Append one line."""
        os.write(self._file, format_request(request).encode())


def directory_name(delaynet_ms: float, tfo: int) -> str:
    """Return the directory below ``serverlogs/`` for the logs of one delay, without (0) or with (1) TFO."""
    return f"{delaynet_ms:g}-tfo-{tfo:d}"


def format_request(request: ServerRequest) -> str:
    """Return `request` as the line that stands in its host's log."""
    return (f"{request.time_s:.6f}\t{request.connection}\t{request.request}\t{_column(request.method)}\t"
            f"{_column(request.path)}\t{request.status}\t{request.bytes}\t{request.found}\t{request.syn_data:d}\t"
            f"{request.scheme}\t{request.protocol}\t{'-' if request.own_ms is None else f'{request.own_ms:.3f}'}\t"
            f"{request.answer}\t{request.early}\t{request.resumed:d}\n")


def read_server_log(path: Path, since: int = 0) -> list[ServerRequest]:
    """Read the log of one server, whose host is the file's name, from the byte `since` on (see `ends_of_logs`).

    What is no request (a line cut short) is left out: the rule "connections not logged" tells what the log lacks.
    Raises UnreadableFileError.
    """
    lines = read_untrusted(path, since=since).decode("utf-8", errors="replace").split("\n")
    return [request for line in lines if (request := _parse(path.name, line))]


def read_server_logs(directory: Path, since: Mapping[Path, int]) -> list[ServerRequest]:
    """Read the logs of all servers in `directory` (``serverlogs/<delaynet>-tfo-<0|1>``), in order of time.

    A directory that does not exist has no requests. Of a log that is in `since` (see `ends_of_logs`) what was there
    then is left out.
    """
    requests = [request for path in sorted(ends_of_logs(directory))
                for request in read_server_log(path, since.get(path, 0))]
    return sorted(requests, key=attrgetter("time_s"))


def ends_of_logs(directory: Path) -> dict[Path, int]:
    """Return how many bytes each log in `directory` has now, so that later only what is new need be read."""
    if not directory.is_dir():
        return {}
    return {path: path.stat().st_size for path in directory.iterdir() if path.is_file()}


def _parse(host: str, line: str) -> ServerRequest | None:
    """Return a line of a log; None for one that cannot be right."""
    try:
        named = dict(zip(COLUMNS, line.split("\t"), strict=True))
        named |= {"own_ms": "null"} if named["own_ms"] == "-" else {}
        request = msgspec.convert({"host": host, **named}, ServerRequest, strict=False)
    except ValueError:
        return None
    is_possible = request.found in FOUND and (not request.status or 100 <= request.status <= 599)
    return request if is_possible else None


def _column(text: str) -> str:
    """Keep a column in its column and its line: white space and control characters are percent-encoded."""
    if PLAIN.fullmatch(text):
        return text
    safe = re.sub(r"[\s\x00-\x1f\x7f]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
    return safe.encode("utf-8", "surrogateescape").decode("utf-8", "replace") or "-"
