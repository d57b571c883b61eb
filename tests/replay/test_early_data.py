"""The socket that takes early data, asked by OpenSSL's own clients."""

import socket
import ssl
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from OpenSSL import SSL

from harness.files.server_log import Early
from harness.replay.authority import HTTP_2, open_authority
from harness.replay.early_data import EarlyContext, EarlySocket
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Secure, last, serving

BIG = bytes(range(256)) * 8192
"""Two megabytes: more than any buffer between the two."""
CLIENT = SSL.Context(SSL.TLS_CLIENT_METHOD)
CLIENT.set_alpn_protos([b"h2", b"http/1.1"])


@dataclass
class Served:
    """What a server saw of a connection."""

    early: list[bool]
    resumed: bool
    in_first_packets: bool
    protocol: str | None


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> EarlyContext:
    authority = open_authority(Path(tmp_path_factory.mktemp("authority")) / "own")
    return authority.early_context({"a.test": HTTP_2, "b.test": ("http/1.1",)})


def serve(context: EarlyContext, plain: socket.socket, answer: bytes, seen: list[Served]) -> None:
    """Read requests up to an empty line each, and answer them, until the client leaves."""
    plain.settimeout(60)
    with closing(context.wrap_socket(plain, server_side=True)) as server:
        assert isinstance(server, EarlySocket)
        served = Served([], server.resumed, server.in_first_packets, server.selected_alpn_protocol())
        seen.append(served)
        request = b""
        while data := server.recv(1000):
            request += data
            while b"\n\n" in request:
                _, _, request = request.partition(b"\n\n")
                served.early.append(server.early)
                server.sendall(answer)


def visit(context: EarlyContext, *, session: SSL.Session | None = None, answer: bytes = b"yes",
          name: bytes = b"a.test") -> tuple[bytes, Served, SSL.Session | None]:
    """Ask once, without early data; return the answer, what the server saw, and a session to take up."""
    ours, theirs = socket.socketpair()
    seen: list[Served] = []
    server = threading.Thread(target=serve, args=(context, theirs, answer, seen))
    server.start()
    with ours:
        client = SSL.Connection(CLIENT, ours)
        client.set_tlsext_host_name(name)
        client.set_connect_state()
        if session is not None:
            client.set_session(session)
        client.do_handshake()
        client.sendall(b"one\n\n")
        came = b""
        while len(came) < len(answer):
            came += client.recv(65536)
        found = client.get_session()
        client.set_shutdown(SSL.SENT_SHUTDOWN | SSL.RECEIVED_SHUTDOWN)      # or nothing could be taken up
    server.join()
    return came, seen[0], found


def ask(quic: Secure, session: Path, request: bytes, *, again: bool) -> bytes:
    """Ask by OpenSSL's own client, over HTTP/1.1: in early data of the session in that file, or first of all."""
    question = session.with_suffix(".http")
    question.write_bytes(request)
    how = ["-sess_in", str(session), "-early_data", str(question)] if again else ["-sess_out", str(session)]
    argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{quic.port}", "-servername", HOST, "-ign_eof", *how]
    return subprocess.run(argv, input=b"" if again else request, capture_output=True, check=False).stdout


@pytest.mark.parametrize(("http", "protocol"), [("1.1", "HTTP/1.1"), ("h2", "HTTP/1.1")])
def test_a_request_in_early_data_is_answered_and_logged_as_often_as_one_likes(
        tls_recording: Path, tmp_path: Path, http: str, protocol: str) -> None:
    port, session = free_port(), tmp_path / "session.pem"
    request = f"GET /gone HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
    with serving(tls_recording, "--http", http, "--early", "off", tls_port=port) as server:
        served = Secure(server, port, tls_recording)
        answers = [ask(served, session, request, again=again) for again in (False, True, True)]
        lines = last(server, 3)
    assert [b"sorry" in answer for answer in answers] == [True] * 3
    assert [(line.early, line.resumed, line.protocol) for line in lines] == [
        (Early.NO, False, protocol), (Early.DATA, True, protocol), (Early.DATA, True, protocol)]


@pytest.mark.parametrize("resumed", [False, True])
def test_a_large_answer_is_whole(context: EarlyContext, resumed: bool) -> None:
    session = visit(context)[2] if resumed else None
    came, served, _ = visit(context, session=session, answer=BIG)
    assert came == BIG
    assert (served.early, served.resumed, served.protocol) == ([False], resumed, "h2")


def test_each_name_is_offered_its_own_protocols(context: EarlyContext) -> None:
    assert [visit(context, name=name)[1].protocol for name in (b"b.test", b"c.test")] == ["http/1.1", "h2"]


@pytest.fixture
def pair(context: EarlyContext) -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_who_says_nothing_or_nonsense_is_an_oserror(context: EarlyContext,
                                                   pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.settimeout(0.05)
    with pytest.raises(TimeoutError):
        context.wrap_socket(theirs, server_side=True)
    ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
    theirs.settimeout(60)
    with pytest.raises(OSError, match="TLS"):
        context.wrap_socket(theirs, server_side=True)


def test_without_time_to_wait_it_says_what_it_waits_for(context: EarlyContext) -> None:
    ours, theirs = socket.socketpair()
    client = SSL.Connection(CLIENT, ours)
    client.set_connect_state()
    shaking = threading.Thread(target=client.do_handshake)
    shaking.start()
    theirs.settimeout(60)
    with ours, closing(context.wrap_socket(theirs, server_side=True)) as server:
        shaking.join()
        server.setblocking(False)
        with pytest.raises(ssl.SSLWantReadError):
            server.recv(1)
        with pytest.raises(ssl.SSLWantWriteError):
            deque(iter(lambda: server.send(BIG), 0))
