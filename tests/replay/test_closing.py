"""A site that closed the connection after an answer when it was recorded closes it again; others keep theirs."""

from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, LIMIT_S, running

CLOSE, KEEP = (("Connection", "Close"),), (("Connection", "keep-alive"),)
BY_CHROME: dict[str, Any] = {"connection": "7"}


@pytest.mark.parametrize(("version", "headers", "more", "closes"), [
    ("HTTP/1.1", CLOSE, BY_CHROME, True), ("HTTP/1.1", (), BY_CHROME, False), ("HTTP/1.1", KEEP, BY_CHROME, False),
    ("HTTP/1.0", (), BY_CHROME, True), ("HTTP/1.0", KEEP, BY_CHROME, False), ("HTTP/1.1", CLOSE, {}, False),
    ("h2", CLOSE, BY_CHROME, False)])
def test_who_closes(tmp_path: Path, version: str, headers: tuple[tuple[str, str], ...], more: dict[str, Any],
                    closes: bool) -> None:
    recorded = HttpsRecording(tmp_path)
    recorded.add(f"http://{HOST}/", b"page", headers, version=version, **more)
    recorded.add(f"http://{HOST}/go", None, (*headers, ("Location", "/")), status=302, version=version, **more)
    with running(recorded.finish(f"http://{HOST}/"), "--http", "recorded") as server:
        for path in ("/", "/go"):
            connection = HTTPConnection(server.address, server.port, timeout=LIMIT_S)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert (answer.will_close, answer.getheader("Connection")) == (closes, "close" if closes else "keep-alive")
            assert (connection.sock is None) == closes
            connection.close()
