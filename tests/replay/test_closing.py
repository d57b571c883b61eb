"""A site that closed the connection after an answer when it was recorded closes it again; others keep theirs."""

from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, running

LENGTH, CHUNKED = (("Content-Length", "4"),), (("Transfer-Encoding", "chunked"),)
CLOSE, KEEP = (("Connection", "Close"), *LENGTH), (("Connection", "keep-alive"), *LENGTH)
BY_CHROME: dict[str, Any] = {"connection": "7"}


@pytest.mark.parametrize(("version", "headers", "more", "closes"), [
    ("HTTP/1.1", CLOSE, BY_CHROME, True), ("HTTP/1.1", LENGTH, BY_CHROME, False), ("HTTP/1.1", KEEP, BY_CHROME, False),
    ("HTTP/1.0", LENGTH, BY_CHROME, True), ("HTTP/1.0", KEEP, BY_CHROME, False), ("HTTP/1.1", CLOSE, {}, False),
    ("h2", CLOSE, BY_CHROME, False), ("HTTP/1.1", CHUNKED, BY_CHROME, False), ("HTTP/1.1", (), BY_CHROME, True),
    ("HTTP/1.1", KEEP[:1], BY_CHROME, True), ("HTTP/1.0", (*KEEP[:1], *CHUNKED), BY_CHROME, True),
    ("HTTP/1.1", (), {}, False), ("h2", (), BY_CHROME, False)])
def test_who_closes(tmp_path: Path, version: str, headers: tuple[tuple[str, str], ...], more: dict[str, Any],
                    closes: bool) -> None:
    recorded = HttpsRecording(tmp_path)
    recorded.add(f"http://{HOST}/", b"page", headers, version=version, **more)
    recorded.add(f"http://{HOST}/go", None, (*headers, ("Location", "/")), status=302, version=version, **more)
    with running(recorded.finish(f"http://{HOST}/"), "--http", "recorded") as server:
        for path in ("/", "/go"):
            connection = HTTPConnection(server.address, server.port)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert (answer.will_close, answer.getheader("Connection")) == (closes, "close" if closes else "keep-alive")
            assert (connection.sock is None) == closes
            connection.close()


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD")])
def test_what_has_no_body_needs_no_end(tmp_path: Path, status: int, method: str) -> None:
    recorded = HttpsRecording(tmp_path)
    recorded.add(f"http://{HOST}/other", b"body", LENGTH, version="HTTP/1.1")
    recorded.add(f"http://{HOST}/", None, status=status, method=method, version="HTTP/1.1", **BY_CHROME)
    with running(recorded.finish(f"http://{HOST}/"), "--http", "recorded") as server:
        connection = HTTPConnection(server.address, server.port)
        connection.request(method, "/")
        assert connection.getresponse().getheader("Connection") == "keep-alive"
        connection.close()
