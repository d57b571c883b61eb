"""A request that nobody answered while it was recorded is left open, without a byte, until whoever asked leaves."""

import socket
import ssl
from collections.abc import Iterator

import pytest

from harness.files.server_log import FoundAs
from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Client, Secure, serving
from tests.support.waiting import wait_until

WHILE_S = 0.3


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    recorded = HttpsRecording(tmp_path_factory.mktemp("hanging"))
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        recorded.add(f"{scheme}://{HOST}/", b"page", version=version)
        recorded.add(f"{scheme}://{HOST}/poll", status=0, version="", _error="unfinished", time=2500, connection="1")
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), "--http", "recorded", tls_port=port) as server:
        yield Secure(server, port, recorded.directory)


def nothing_comes(connection: socket.socket) -> bool:
    """Say whether nothing comes for WHILE_S, neither a byte nor an end."""
    connection.settimeout(WHILE_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize("protocol", ["", "http/1.1", "h2"])
def test_nothing_comes(hanging: Secure, protocol: str) -> None:
    """Over http, https and HTTP/2, where other answers do."""
    before = len(hanging.server.log())
    with hanging.connect(protocol) if protocol else hanging.server.connect() as connection:
        if protocol == "h2":
            assert isinstance(connection, ssl.SSLSocket)
            client = Client(connection)
            poll = client.ask("/poll")
            client.open.discard(poll)
            assert client.get("/")[1] == b"page"
            assert client.answers[poll].headers == []
        else:
            connection.sendall(f"GET /poll HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert nothing_comes(connection)
    wait_until(lambda: ("/poll", 0, 0, FoundAs.UNANSWERED, None) in [
        (line.path, line.status, line.bytes, line.found, line.own_ms) for line in hanging.server.log()[before:]])
