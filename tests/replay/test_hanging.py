"""A request that nobody answered while it was recorded is left open, without a byte, until whoever asked leaves."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.files.server_log import FoundAs
from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Client, Secure, serving
from tests.support.waiting import wait_until

WHILE_S = 0.3


@pytest.fixture(scope="module", params=["1.0", "1.1"])
def hanging(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Secure]:
    recorded = HttpsRecording(tmp_path_factory.mktemp("hanging"))
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        recorded.add(f"{scheme}://{HOST}/", b"page", version=version)
        recorded.add(f"{scheme}://{HOST}/poll", status=0, version="", _error="unfinished", time=2500, connection="1")
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), "--http", request.param, tls_port=port) as server:
        yield Secure(server, port, recorded.directory)


def nothing_comes(connection: socket.socket) -> bool:
    """Say whether nothing comes for WHILE_S, neither a byte nor an end."""
    connection.settimeout(WHILE_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize("secure", [False, True])
def test_over_http_1(hanging: Secure, secure: bool) -> None:
    with hanging.connect("http/1.1") if secure else hanging.server.connect() as connection:
        connection.sendall(f"GET /poll HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert nothing_comes(connection)
    scheme = "https" if secure else "http"
    wait_until(lambda: [(line.status, line.bytes, line.found, line.own_ms) for line in hanging.server.log()
                        if line.path == "/poll" and line.scheme == scheme] == [(0, 0, FoundAs.UNANSWERED, None)])


def test_over_http_2_beside_others(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    recorded.add(f"https://{HOST}/", b"page")
    recorded.add(f"https://{HOST}/poll", status=0, version="", _error="unfinished", time=2500, connection="1")
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), tls_port=port) as server:
        with Secure(server, port, tmp_path).connect("h2") as connection:
            client = Client(connection)
            poll = client.ask("/poll")
            client.open.discard(poll)
            assert client.get("/")[1] == b"page"
            assert nothing_comes(connection)
            assert client.answers[poll].headers == []
        wait_until(lambda: [(line.path, line.status, line.found) for line in server.log()] == [
            ("/", 200, "plain"), ("/poll", 0, "unanswered")] or [line.path for line in server.log()] == ["/poll", "/"])
        assert {line.path: line.status for line in server.log()} == {"/": 200, "/poll": 0}
