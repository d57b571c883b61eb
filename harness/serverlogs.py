"""The replay servers' logs: ``serverlogs/<delaynet>-tfo-<0|1>/<host>``, one tab-separated line per request."""

import re
from dataclasses import dataclass
from pathlib import Path

COLUMNS_BEFORE_TLS = ("time_s", "connection", "request", "method", "path", "status", "bytes", "found", "syn_data")
COLUMNS = (*COLUMNS_BEFORE_TLS, "scheme", "protocol")
HEADER = "#" + "\t".join(COLUMNS) + "\n"
FOUND = frozenset(("plain", "md5", "best-match", "redirect", "status", "missing", "silent"))


@dataclass(frozen=True)
class ServerRequest:
    """One request as its server saw it.

    `time_s` is when the request's head was read (for a silent connection: when it was accepted), in s since the epoch.
    `connection` counts the server's accepted connections from 1, `request` the requests on its connection from 1.
    `bytes` of the body were sent. `found` is how the answer was found: plain, md5, best-match, redirect, status (a
    recorded status other than 200, or an error), missing, or silent: a connection without a request, whose `request`,
    `status` and `bytes` are 0. `syn_data`: the connection's SYN carried data (TCP Fast Open worked): for https the
    ClientHello, or its beginning. `scheme` is http or https, `protocol` what was spoken in it: HTTP/1.0, HTTP/1.1, h2,
    or "-" where nothing was. Logs from before the servers spoke TLS lack these two columns.
    """

    host: str
    time_s: float
    connection: int
    request: int
    method: str
    path: str
    status: int
    bytes: int
    found: str
    syn_data: bool
    scheme: str = "http"
    protocol: str = "-"


def format_request(request: ServerRequest) -> str:
    """Return `request` as the line that stands in its host's log."""
    return (f"{request.time_s:.6f}\t{request.connection}\t{request.request}\t{_column(request.method)}\t"
            f"{_column(request.path)}\t{request.status}\t{request.bytes}\t{request.found}\t{request.syn_data:d}\t"
            f"{request.scheme}\t{request.protocol}\n")


def read_server_log(path: Path, problems: list[str] | None = None) -> list[ServerRequest]:
    """Read the log of one server, whose host is the file's name.

    What is no request (a line cut short) is left out and reported in `problems` as ``file:line: problem``.
    Raises OSError.
    """
    requests = []
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        try:
            requests.append(_parse(path.name, line))
        except ValueError as error:
            if problems is not None:
                problems.append(f"{path}:{number}: not a request ({error}): {line[:80]!r}")
    return requests


def read_server_logs(directory: Path, problems: list[str] | None = None) -> list[ServerRequest]:
    """Read the logs of all servers in `directory` (``serverlogs/<delaynet>-tfo-<0|1>``), in order of time.

    A directory that does not exist has no requests. See `read_server_log` for `problems`.
    """
    if not directory.is_dir():
        return []
    requests = [request for path in sorted(directory.iterdir()) if path.is_file()
                for request in read_server_log(path, problems)]
    return sorted(requests, key=lambda request: request.time_s)


def _parse(host: str, line: str) -> ServerRequest:
    fields = line.split("\t")
    if len(fields) not in (len(COLUMNS), len(COLUMNS_BEFORE_TLS)):
        raise ValueError(f"{len(fields)} columns instead of {len(COLUMNS)}")
    time_s, connection, request, method, path, status, size, found, syn_data, *spoken = fields
    if found not in FOUND or syn_data not in ("0", "1") or spoken[:1] not in ([], ["http"], ["https"]):
        raise ValueError(f"found {found!r}, syn_data {syn_data!r}, scheme {spoken[:1]!r}")
    return ServerRequest(host, float(time_s), int(connection), int(request), method, path, int(status), int(size),
                         found, syn_data == "1", *spoken)


def _column(text: str) -> str:
    """Keep a column in its column and its line: white space and control characters are percent-encoded."""
    safe = re.sub(r"[\s\x00-\x1f\x7f]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
    return safe.encode("utf-8", "surrogateescape").decode("utf-8", "replace") or "-"
