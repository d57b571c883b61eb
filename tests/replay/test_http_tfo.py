"""http_tfo.py over HTTP/1: connections that are kept, hostile, hasty and idle clients."""

import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.bootstrap import ROOT
from harness.replay.http2 import PREFACE
from tests.support.replay_process import ONE_HOST, Running, command, free_port, read_all
from tests.support.secure_replay import BIG
from tests.support.waiting import wait_until


def test_http_1_1_answers_pipelined_requests_on_one_connection(secure: Running) -> None:
    request = b"GET /gone HTTP/1.1\r\nHost: a.test\r\n\r\n"
    with secure.secure("http/1.1") as connection:
        connection.sendall(request + b"POST /p?a=1&t=1 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody" + request
                           + b"GET /tagged HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 ") == 4
    assert [answer.count(body) for body in (b"\r\n\r\nsorryHTTP", b"\r\n\r\np1HTTP", b"\r\n\r\ntagged")] == [2, 1, 1]
    lines = secure.log()[-4:]
    assert [line.request for line in lines] == [1, 2, 3, 4]
    assert len({line.connection for line in lines}) == 1


LINES = st.sampled_from([
    b"GET / HTTP/1.1", b"GET /gone", b"HEAD /p?a HTTP/1.0", b"POST http://a.test/ HTTP/1.1", b"A: b", b" folded", b":",
    b"", b"Content-Length: 5", b"Content-Length: x", b"Expect: 100-continue", b"Connection: close", b"\xff\xfe",
    b"Transfer-Encoding: chunked", b"Content-Length: -1", b"Content-Length: " + b"9" * 5000, b"GET / HTTP/9.9",
    b"GET //../%00%2f..?# HTTP/1.1", b"GET http://[ HTTP/1.1"])
TEXTS = st.builds(lambda lines, end: end.join(lines), st.lists(LINES | st.binary(max_size=300), max_size=8),
                  st.sampled_from([b"\r\n", b"\n"]))


@example(b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", "http")
@example(b"GET / HTTP/1.1\r\n" + (b"A: " + b"b" * 60_000 + b"\r\n") * 5 + b"\r\n", "http")
@example(PREFACE + bytes(9), "h2")
@example(b"GET / HTTP/1.1\r\n\r\n", "h2")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS | st.binary(max_size=300).map(PREFACE.__add__),
       st.sampled_from(["http", "plain on the TLS port", "h2", "http/1.1"]))
def test_garbage_never_ends_the_server(secure: Running, sent: bytes, where: str) -> None:
    """It is answered or the connection ends: else this hangs. conftest.py looks at what the server says."""
    ports = {"http": secure.port, "plain on the TLS port": secure.tls_port}
    with secure.connect(ports[where]) if where in ports else secure.secure(where) as connection:
        answer = b""
        with suppress(OSError):         # the server may have left already
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = read_all(connection)
    assert where != "http" or not answer or answer.startswith(b"HTTP/1.1 ")
    assert secure.process.poll() is None


def test_a_client_that_leaves_in_the_middle_is_noted(secure: Running) -> None:
    with secure.secure("http/1.1") as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        connection.recv(10)
    wait_until(lambda: [(line.path, line.bytes < len(BIG)) for line in secure.log()][-1:] == [("/big", True)])


def test_an_idle_connection_is_closed_after_the_limit(tls_recording: Path) -> None:
    argv = command(tls_recording, port := free_port(), "--http", "1.1", hosts=ONE_HOST)
    code = ("import runpy, sys; from harness.replay.server import ReplayServer; ReplayServer.idle_limit_s = 0.3; "
            f"sys.argv = {argv!r}; runpy.run_path(sys.argv[0], run_name='__main__')")
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready 1\n"
            for sent in (b"", b"GET / HT", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA: b\r\n"):
                begin = time.monotonic()
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(sent)
                    read_all(connection)
                    assert time.monotonic() - begin > 0.2
        finally:
            process.terminate()
