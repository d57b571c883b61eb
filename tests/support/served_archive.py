"""What others recorded, answered by the server that Chrome asks while it is imported."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

from harness.files.headers import Headers
from harness.record.sources.answers import Entry, Index
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.server import NUMBER, ArchiveServer
from harness.record.sources.source import IndexedSource

FILM = "http://a.test/film.mp4"
Got = tuple[int, bytes, str | None]


def recorded(status: int, body: bytes, *headers: tuple[str, str], url: str = FILM, reason: str = "") -> Entry:
    answer = ArchivedAnswer(url, status, reason, headers, body, "HTTP/1.1")
    return Entry("GET", url, status, lambda: answer)


def no_tls(host: str) -> ssl.SSLContext:
    raise AssertionError(host)


@contextmanager
def serving(*entries: Entry) -> Iterator[ArchiveServer]:
    """Answer from these entries."""
    source = IndexedSource("made", Index([*entries]))
    with ArchiveServer(source, "", no_tls, lambda *_: None) as server:
        yield server


def ask(server: ArchiveServer, asked: str = "", method: str = "GET", url: str = FILM) -> tuple[Got, Headers]:
    """Return what a browser gets for a film, and the headers that the recording has of the answer."""
    port = int(server.rules.partition("127.0.0.1:")[2].partition(",")[0])
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    parts = urlsplit(url)
    target = parts._replace(scheme="", netloc="").geturl()
    connection.request(method, target, headers={"Host": parts.netloc} | ({"Range": asked} if asked else {}))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    noted = server.answers[int(answer.headers[NUMBER])]
    return (answer.status, body, answer.headers["Content-Range"]), noted.headers if noted else ()
