import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.replay.server import ReplayServer
from tests.support.noted import each_case
from tests.support.recording import HOST
from tests.support.replay_process import HTTP_TFO, Running, free_port, make_recording, read_all, running
from tests.support.waiting import wait_until

DATA_SEGMENTS_IN = 152
"""Byte of tcpi_data_segs_in in struct tcp_info (linux/tcp.h)."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("recording")
    make_recording(directory)
    return directory


@pytest.fixture(scope="module")
def server(recording: Path) -> Iterator[Running]:
    with running(recording) as server:
        yield server


@pytest.fixture(scope="module")
def keeping(recording: Path) -> Iterator[Running]:
    with running(recording, "--http", "1.1") as server:
        yield server
        server.process.terminate()
        assert server.process.communicate()[1] == "", "garbage is answered, not merely survived"


@each_case("replay/answers_2013.jsonl")
def test_status_body_and_log(server: Running, case: dict[str, Any]) -> None:
    """Requests for what replay_process.py records in 2013's format, over HTTP/1.0."""
    method, headers = case.get("method", "GET"), {"Connection": "keep-alive"} | case.get("headers", {})
    response, body = server.get(case["ask"], method, b"z" * case.get("upload", 0), headers)
    line = server.log()[-1]
    assert (response.status, line.status, line.found, line.path, line.method, line.request, line.bytes, line.syn_data
            ) == (case["status"], case["status"], case["found"], case["ask"], method, 1, len(body), False)
    assert abs(line.time_s - time.time()) < 600
    assert 0 <= (-1 if line.own_ms is None else line.own_ms) < 60_000
    assert (response.version, response.getheader("Connection")) == (10, "close"), "whatever the client wants"
    wanted = {"Access-Control-Allow-Origin": "*"} | case.get("answers", {})
    assert {name: response.getheader(name) for name in wanted} == wanted
    assert body.decode() == case["body"] if "body" in case else len(body) == case.get("bytes", len(body))


def test_http_1_1_answers_pipelined_requests_on_one_connection(keeping: Running) -> None:
    request = b"GET /x.css HTTP/1.1\r\nHost: a.test\r\n\r\n"
    with keeping.connect() as connection:
        connection.sendall(request + b"POST /p?a=1&r=1 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody" + request
                           + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 4
    assert [body in answer for body in (b"p{}HTTP", b"p1HTTP", b"<html>front")] == [True] * 3
    lines = keeping.log()[-4:]
    assert [line.request for line in lines] == [1, 2, 3, 4]
    assert len({line.connection for line in lines}) == 1


def test_head_and_body_leave_in_one_segment(keeping: Running) -> None:
    """Two writes would cost one more RTT with keep-alive."""
    with keeping.connect() as connection:
        for count in range(1, 4):
            connection.sendall(b"GET /data HTTP/1.1\r\n\r\n")
            answer = b""
            while not answer.endswith(b"d" * 9492):
                answer += connection.recv(65536)
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DATA_SEGMENTS_IN + 4)
            assert struct.unpack_from("I", info, DATA_SEGMENTS_IN)[0] == count


LINES = st.sampled_from([
    b"GET / HTTP/1.1", b"GET /x.css", b"HEAD /p?a HTTP/1.0", b"POST http://a.test/ HTTP/1.1", b"A: b", b" folded", b":",
    b"", b"Content-Length: 5", b"Content-Length: x", b"Expect: 100-continue", b"Connection: close", b"\xff\xfe",
    b"Transfer-Encoding: chunked", b"Content-Length: -1", b"Content-Length: " + b"9" * 5000, b"GET / HTTP/9.9",
    b"GET //../%00%2f..?# HTTP/1.1", b"GET http://[ HTTP/1.1"])


@example([b"GET / HTTP/1.1", b"Content-Length: " + b"9" * 5000, b"", b""], b"\r\n")
@example([b"GET / HTTP/1.1", *[b"A: " + b"b" * 60_000] * 5, b"", b""], b"\r\n")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES | st.binary(max_size=300), max_size=8), st.sampled_from([b"\r\n", b"\n"]))
def test_garbage_never_ends_the_server(keeping: Running, lines: list[bytes], end: bytes) -> None:
    with keeping.connect() as connection:
        connection.sendall(end.join(lines))
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)    # fails by timeout when neither answered nor closed
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert keeping.get("/x.css")[1] == b"p{}"


def test_silent_connections_keep_nobody_waiting_and_are_noted(server: Running) -> None:
    """In 2013 one kept all waiting: tests/programs/test_savings.py."""
    silent = [server.connect() for _ in range(50)]
    begin = time.monotonic()
    assert server.get("/x.css")[1] == b"p{}"
    assert time.monotonic() - begin < ReplayServer.idle_limit_s / 2, "a server that waits for them waits so long"
    for connection in silent:
        connection.close()
    wait_until(lambda: [line.found for line in server.log()].count("silent") == 50)
    noted = {(line.method, line.path, line.status, line.bytes, line.request, line.own_ms)
             for line in server.log() if line.found == "silent"}
    assert noted == {("-", "-", 0, 0, 0, None)}


def test_a_client_that_leaves_in_the_middle_is_noted(server: Running) -> None:
    connection = server.connect()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.sendall(b"GET /big HTTP/1.0\r\n\r\n")
    connection.recv(10)
    connection.close()
    wait_until(lambda: [line.path for line in server.log()][-1:] == ["/big"])
    assert server.get("/x.css")[1] == b"p{}"


def test_an_idle_connection_is_closed_after_the_limit(recording: Path) -> None:
    port = free_port()
    argv = [str(HTTP_TFO), "--mirror", str(recording / "Web"), "--host", HOST, "--port", str(port), "--http", "1.1"]
    code = ("import runpy, sys; from harness.replay.server import ReplayServer; ReplayServer.idle_limit_s = 0.3; "
            f"sys.argv = {argv!r}; runpy.run_path(sys.argv[0], run_name='__main__')")
    with subprocess.Popen([sys.executable, "-c", code], cwd=HTTP_TFO.parent.parent, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready 1\n"
            for sent in (b"", b"GET / HT", b"GET /x.css HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA: b\r\n"):
                begin = time.monotonic()
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(sent)
                    read_all(connection)
                    assert time.monotonic() - begin > 0.2
        finally:
            process.terminate()


def test_in_2013_a_silent_connection_keeps_all_others_waiting(recording: Path) -> None:
    with running(recording, "--server", "2013") as server:
        silent = server.connect()
        with server.connect() as connection:
            connection.sendall(b"GET /x.css HTTP/1.0\r\n\r\n")
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            silent.close()
            connection.settimeout(None)
            assert read_all(connection).endswith(b"p{}")
