"""http_tfo.py over TLS: TLS 1.3 only, HTTP/2 where it was recorded, recorded headers; with curl and h2's client."""

import contextlib
import gzip
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.files.server_log import ServerRequest
from harness.replay.authority import open_authority
from harness.replay.server import ReplayServer
from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, Running, free_port, read_all, refusal, running, wait_until

BIG = bytes(range(256)) * 20_000
"""5 MB."""
MANY = 100
TEXT = (("Content-Type", "text/plain"),)
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="no curl to compare with")


def record(directory: Path) -> None:
    recorded = HttpsRecording(directory)
    recorded.add(f"https://{HOST}/", gzip.compress(b"<html>front"), (
        ("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"),
        ("Server", "x"), ("Strict-Transport-Security", "max-age=9"), ("Alt-Svc", 'h3=":443"'), ("Connection", "close"),
        ("Transfer-Encoding", "chunked"), ("Content-Length", "7"), ("Content-Security-Policy", "script-src 'none'"),
        ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")))
    recorded.add(f"https://{HOST}/big", BIG, TEXT)
    for number in range(MANY):
        recorded.add(f"https://{HOST}/many/{number}", b"%d " % number * 1000, TEXT)
    recorded.add(f"https://{HOST}/go", status=302, headers=(("Location", "/there"), *TEXT))
    recorded.add(f"https://{HOST}/none", status=204)
    recorded.add(f"https://{HOST}/gone", b"sorry", TEXT, status=410)
    recorded.add(f"https://{HOST}/p?a=1&t=1", b"p1", TEXT)
    recorded.add(f"https://{HOST}/cookie", status=302, headers=(("Location", "/cookie"), ("Set-Cookie", "seen=1")),
                 cookie="old=1")
    recorded.add(f"https://{HOST}/cookie", b"welcome", TEXT, cookie="old=1; seen=1")
    recorded.add(f"https://{HOST}/tagged", b"tagged", (*TEXT, ("ETag", 'W/"1"'), ("Cache-Control", "no-cache"),
                                                       ("Last-Modified", "Fri, 20 Nov 2026 09:00:00 GMT")))
    recorded.add(f"https://{HOST}/video", b"video", (*TEXT, ("Accept-Ranges", "bytes")))
    recorded.add(f"https://{HOST}/hints", b"hints", TEXT)
    recorded.entries[-1]["response"]["_earlyHints"] = [{"name": "Link", "value": "</s.css>; rel=preload; as=style"}]
    recorded.add(f"https://{HOST}/api", b"put", TEXT, method="PUT", size=3)
    recorded.add(f"http://{HOST}/", status=301, headers=(("Location", f"https://{HOST}/"),), version="http/1.1")
    recorded.add("https://old.test/", b"old", TEXT, version="http/1.1")
    recorded.finish(f"https://{HOST}/")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("https")
    record(directory)
    return directory


def serving(recording: Path, *options: str, tls_port: int) -> contextlib.AbstractContextManager[Running]:
    return running(recording, "--authority", recording / "authority", "--tls-port", str(tls_port), *options)


@dataclass
class Secure:
    """A running server and its port for https."""

    server: Running
    port: int
    directory: Path

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.directory / "authority" / "ca.pem"))
        context.set_alpn_protocols(list(protocols))
        return context

    def connect(self, *protocols: str) -> ssl.SSLSocket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return self.context(*protocols).wrap_socket(connection, server_hostname=HOST)

    def curl(self, path: str, *options: str) -> bytes:
        connect = (f"{HOST}:443:127.0.0.1:{self.port}", f"{HOST}:80:127.0.0.1:{self.server.port}")
        argv = ["curl", "-sS", "--noproxy", "*", "--max-time", "20",
                "--cacert", str(self.directory / "authority" / "ca.pem"),
                "--connect-to", connect[0], "--connect-to", connect[1], *options, f"https://{HOST}{path}"]
        return subprocess.run(argv, capture_output=True, check=True, timeout=30).stdout


@pytest.fixture(scope="module")
def secure(recording: Path) -> Iterator[Secure]:
    port = free_port()
    with serving(recording, tls_port=port) as server:
        yield Secure(server, port, recording)


@dataclass
class Answer:
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    ended: int = -1
    """In which order it ended, from 0; -1: it was reset."""


class Client:
    """Speaks HTTP/2 with h2's own client. Flow control stays at the protocol's default: windows of 65535 bytes."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.socket = connection
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self.h2.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.open: set[int] = set()

    def ask(self, path: str, method: str = "GET", *headers: tuple[str, str], body: int = 0) -> int:
        stream = self.h2.get_next_available_stream_id()
        asked = [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path), *headers]
        self.h2.send_headers(stream, asked, end_stream=not body)
        self.answers[stream] = Answer()
        self.open.add(stream)
        while body:
            size = min(body, self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if not size:
                self.turn()
                continue
            body -= size
            self.h2.send_data(stream, bytes(size), end_stream=not body)
        return stream

    def finish(self) -> None:
        while self.open:
            self.turn()

    def turn(self) -> None:
        self.socket.sendall(self.h2.data_to_send())
        data = self.socket.recv(65536)
        assert data, "the server closed the connection"
        for event in self.h2.receive_data(data):
            assert not isinstance(event, ConnectionTerminated), event
            if isinstance(event, ResponseReceived):
                self.answers[event.stream_id].headers = [(bytes(name), bytes(value)) for name, value in event.headers]
            elif isinstance(event, DataReceived):
                self.answers[event.stream_id].body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.answers[event.stream_id].ended = len(self.answers) - len(self.open)
                self.open.discard(event.stream_id)
            elif isinstance(event, StreamReset):
                self.open.discard(event.stream_id)

    def get(self, path: str, method: str = "GET", *headers: tuple[str, str]) -> tuple[dict[bytes, bytes], bytes]:
        answer = self.answers[self.ask(path, method, *headers)]
        self.finish()
        return dict(answer.headers), bytes(answer.body)


@pytest.fixture
def client(secure: Secure) -> Iterator[Client]:
    with secure.connect("h2") as connection:
        yield Client(connection)


def last(server: Running, count: int = 1) -> list[ServerRequest]:
    return sorted(server.log(), key=lambda line: (line.time_s, line.connection, line.request))[-count:]


def test_only_tls_1_3_and_only_its_own_authority(secure: Secure, tmp_path: Path) -> None:
    before = sum(line.protocol == "-" for line in secure.server.log())
    with secure.connect("h2") as connection:
        assert connection.version() == "TLSv1.3"
        assert ("DNS", HOST) in (connection.getpeercert() or {})["subjectAltName"]
    old = secure.context("h2")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    open_authority(tmp_path)
    other = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    for context in (old, other):
        with socket.create_connection(("127.0.0.1", secure.port), timeout=10) as plain, pytest.raises(ssl.SSLError):
            context.wrap_socket(plain, server_hostname=HOST)
    refused = ("silent", "https", "-")
    wait_until(lambda: [(line.found, line.scheme, line.protocol) for line in secure.server.log()].count(refused)
               == before + 2)


@pytest.mark.parametrize(("host", "http", "offered", "spoken"), [
    (HOST, "1.0", ("h2", "http/1.1"), "h2"), (HOST, "recorded", ("h2", "http/1.1"), "h2"),
    (HOST, "1.0", ("http/1.1",), "http/1.1"), (HOST, "1.1", ("h2", "http/1.1"), "http/1.1"),
    ("old.test", "1.0", ("h2", "http/1.1"), "http/1.1"), ("old.test", "recorded", ("h2", "http/1.1"), "http/1.1"),
    ("old.test", "h2", ("h2", "http/1.1"), "h2")])
def test_which_protocol_is_spoken(recording: Path, host: str, http: str, offered: tuple[str, ...], spoken: str) -> None:
    port = free_port()
    hosts = recording / "hosts"
    hosts.write_text(f"{host} 127.0.0.1 -\n")
    with serving(recording, "--hosts", str(hosts), "--http", http, tls_port=port) as server:
        context = Secure(server, port, recording).context(*offered)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, \
                context.wrap_socket(plain, server_hostname=host) as connection:
            assert connection.selected_alpn_protocol() == spoken


def test_in_2013_one_at_a_time_and_http_1_0(recording: Path) -> None:
    port = free_port()
    with serving(recording, "--server", "2013", tls_port=port) as server:
        with Secure(server, port, recording).connect("h2", "http/1.1") as connection:
            connection.sendall(b"GET /gone HTTP/1.1\r\n\r\n")
            assert read_all(connection).startswith(b"HTTP/1.0 410 Gone\r\n")


def test_recorded_headers_and_the_encoded_body(client: Client, secure: Secure) -> None:
    headers, body = client.get("/")
    assert headers == {
        b":status": b"200", b"content-type": b"text/html; charset=utf-8", b"content-encoding": b"gzip",
        b"vary": b"Accept-Encoding", b"content-security-policy": b"script-src 'none'", b"set-cookie": b"b=2",
        b"content-length": str(len(body)).encode()}
    assert [value for name, value in client.answers[1].headers if name == b"set-cookie"] == [b"a=1", b"b=2"]
    assert gzip.decompress(body) == b"<html>front"
    (line,) = last(secure.server)
    assert (line.path, line.status, line.bytes, line.found, line.scheme, line.protocol) == (
        "/", 200, len(body), "plain", "https", "h2")


def test_statuses_methods_and_matches(client: Client, secure: Secure) -> None:
    headers, body = client.get("/go")
    assert (headers[b":status"], headers[b"location"], body) == (b"302", b"/there", b"")
    headers, body = client.get("/none")
    assert (headers, body) == ({b":status": b"204"}, b"")
    headers, body = client.get("/gone")
    assert (headers[b":status"], body) == (b"410", b"sorry")
    headers, body = client.get("/big", "HEAD")
    assert (headers[b"content-length"], body) == (str(len(BIG)).encode(), b"")
    assert client.get("/p?a=1&t=2")[1] == b"p1"
    assert client.get("/nothing")[0][b":status"] == b"404"
    assert client.get("/api", "PUT")[1] == b"put"
    headers, _ = client.get("/api", "OPTIONS", ("origin", "https://b.test"), ("access-control-request-method", "PUT"),
                            ("access-control-request-headers", "x-mine"))
    assert headers == {b":status": b"204", b"access-control-allow-origin": b"https://b.test",
                       b"access-control-allow-credentials": b"true", b"access-control-allow-headers": b"x-mine",
                       b"access-control-allow-methods": b"PUT"}
    lines = last(secure.server, 8)
    assert [line.found for line in lines] == [
        "redirect", "status", "status", "plain", "best-match", "missing", "plain", "status"]
    assert [line.request for line in lines] == list(range(1, 9))
    assert len({line.connection for line in lines}) == 1


@pytest.mark.parametrize(("cookies", "status"), [
    ((), b"302"), (("old=1",), b"302"), (("seen=2",), b"200"), (("old=1", "seen=1"), b"200"), (("seen2=1",), b"302")])
def test_a_redirect_that_sets_a_cookie_comes_before_the_answer(client: Client, cookies: tuple[str, ...],
                                                               status: bytes) -> None:
    headers, body = client.get("/cookie", "GET", *(("cookie", cookie) for cookie in cookies))
    assert headers[b":status"] == status
    assert (headers.get(b"set-cookie"), body) == ((b"seen=1", b"") if status == b"302" else (None, b"welcome"))


@pytest.mark.parametrize(("name", "value", "status"), [
    ("if-none-match", '"1"', b"304"), ("if-none-match", '"0", W/"1"', b"304"), ("if-none-match", '"2"', b"200"),
    ("if-modified-since", "Fri, 20 Nov 2026 09:00:00 GMT", b"304"),
    ("if-modified-since", "Fri, 13 Nov 2026 09:00:00 GMT", b"200")])
def test_who_has_the_body_already_gets_none(client: Client, name: str, value: str, status: bytes) -> None:
    headers, body = client.get("/tagged", "GET", (name, value))
    assert (headers[b":status"], headers[b"etag"], headers[b"cache-control"]) == (status, b'W/"1"', b"no-cache")
    assert (body, b"content-type" in headers) == ((b"tagged", True) if status == b"200" else (b"", False))
    assert client.get("/gone", "GET", ("if-none-match", ""))[0][b":status"] == b"410"


def test_many_streams_on_one_connection(client: Client, secure: Secure) -> None:
    for number in range(MANY):
        client.ask(f"/many/{number}")
    client.finish()
    bodies = [bytes(answer.body) for answer in client.answers.values()]
    assert bodies == [b"%d " % number * 1000 for number in range(MANY)]
    assert len({line.connection for line in last(secure.server, MANY)}) == 1


def test_flow_control_is_honoured_with_5_mb(client: Client, secure: Secure) -> None:
    """h2's client raises FlowControlError on one byte too many; windows are 65535 bytes."""
    _, body = client.get("/big")
    assert body == BIG
    assert last(secure.server)[0].bytes == len(BIG)


def test_a_client_that_takes_nothing_keeps_no_other_stream_waiting(client: Client) -> None:
    stuck = client.ask("/big")
    client.h2.acknowledge_received_data = lambda *_: None  # type: ignore[method-assign]  # never gives more room
    for _ in range(200):
        client.turn()
        if len(client.answers[stuck].body) >= 65535:
            break
    assert len(client.answers[stuck].body) == 65535
    client.h2.increment_flow_control_window(100_000)    # the connection's, not the stream's
    small = client.ask("/gone")
    while small in client.open:
        client.turn()
    assert bytes(client.answers[small].body) == b"sorry"


def test_what_is_urgent_comes_first(client: Client) -> None:
    """Asked for last, but more urgent: it ends long before the large one, and so do all that take turns with it."""
    client.socket.sendall(client.h2.data_to_send())
    large = client.ask("/big", "GET", ("priority", "u=5"))
    small = [client.ask(f"/many/{number}", "GET", ("priority", "u=1, i")) for number in range(5)]
    client.finish()
    assert sorted(client.answers[stream].ended for stream in small) == [0, 1, 2, 3, 4]
    assert client.answers[large].ended == 5
    assert bytes(client.answers[large].body) == BIG


def test_a_request_with_a_body(client: Client, secure: Secure) -> None:
    answer = client.answers[client.ask("/gone", "POST", body=300_000)]
    client.finish()
    assert bytes(answer.body) == b"sorry"
    assert last(secure.server)[0].method == "POST"


def test_a_stream_that_is_reset_is_noted_and_the_others_go_on(client: Client, secure: Secure) -> None:
    stream = client.ask("/big")
    while not client.answers[stream].body:
        client.turn()
    client.h2.reset_stream(stream)
    client.open.discard(stream)
    assert client.get("/gone")[1] == b"sorry"
    first, second = last(secure.server, 2)
    assert (first.path, second.path) == ("/big", "/gone")
    assert 0 < first.bytes < len(BIG)


def test_http_1_1_keeps_the_connection(secure: Secure) -> None:
    with secure.connect("http/1.1") as connection:
        for count in (1, 2):
            connection.sendall(b"GET /gone HTTP/1.1\r\nHost: a.test\r\n\r\n")
            answer = b""
            while not answer.endswith(b"sorry"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 410 Gone\r\n")
            assert b"\r\nContent-Type: text/plain\r\n" in answer
            wait_until(lambda count=count: last(secure.server)[0].request == count)  # type: ignore[misc]
    line = last(secure.server)[0]
    assert (line.scheme, line.protocol, line.found) == ("https", "HTTP/1.1", "status")


def test_http_and_https_of_one_host(secure: Secure) -> None:
    response, _ = secure.server.get("/")
    assert (response.status, response.getheader("Location")) == (301, f"https://{HOST}/")
    (line,) = last(secure.server)
    assert (line.scheme, line.protocol, line.found) == ("http", "HTTP/1.0", "redirect")


@pytest.mark.timing
def test_who_only_shakes_hands_is_noted_and_keeps_nobody_waiting(secure: Secure) -> None:
    for protocol, spoken in (("h2", "h2"), ("http/1.1", "HTTP/1.1")):
        with secure.connect(protocol):
            begin = time.monotonic()
            with secure.connect("h2") as other:
                assert Client(other).get("/gone")[1] == b"sorry"
            assert time.monotonic() - begin < ReplayServer.idle_limit_s / 2, "who waits for the first waits so long"
        wait_until(lambda spoken=spoken: any(  # type: ignore[misc]
            line.found == "silent" and line.protocol == spoken for line in secure.server.log()))


def test_a_silent_connection_without_a_hello_is_noted(secure: Secure) -> None:
    before = sum(line.found == "silent" for line in secure.server.log())
    with socket.create_connection(("127.0.0.1", secure.port)):
        pass
    wait_until(lambda: sum(line.found == "silent" for line in secure.server.log()) == before + 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["plain", "h2", "http/1.1"]), st.booleans())
def test_garbage_never_ends_the_server(secure: Secure, garbage: bytes, where: str, preface: bool) -> None:
    begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" if preface else b""
    with socket.create_connection(("127.0.0.1", secure.port), timeout=20) as plain:
        if where == "plain":
            with contextlib.suppress(OSError):    # the server may have closed already
                plain.sendall(garbage)
                plain.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                read_all(plain)
        else:
            with secure.context(where).wrap_socket(plain, server_hostname=HOST) as connection:
                connection.sendall(begin + garbage)
    assert secure.server.process.poll() is None


def test_after_garbage_all_is_well_and_nothing_was_said(recording: Path) -> None:
    port = free_port()
    with serving(recording, tls_port=port) as server:
        secure = Secure(server, port, recording)
        for garbage in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), b"GET / HTTP/1.1\r\n\r\n", b""):
            with secure.connect("h2") as connection:
                connection.sendall(garbage)
                connection.settimeout(20)
                if garbage:
                    read_all(connection)
        with secure.connect("h2") as connection:
            assert Client(connection).get("/gone")[1] == b"sorry"
        server.process.terminate()
        assert server.process.communicate(timeout=10)[1] == ""


def test_the_log_tells_the_servers_own_time(secure: Secure) -> None:
    with secure.connect("h2") as connection:
        assert Client(connection).get("/gone")[1] == b"sorry"
    wait_until(lambda: last(secure.server)[0].path == "/gone")
    own_ms = last(secure.server)[0].own_ms
    assert own_ms is not None
    assert 0 <= own_ms < 10_000


@needs_curl
def test_curl_agrees(secure: Secure) -> None:
    assert secure.curl("/big", "--http2") == BIG
    assert secure.curl("/big", "--http1.1") == BIG
    assert secure.curl("/", "--compressed") == b"<html>front"
    told = secure.curl("/go", "-o", "/dev/null", "-w", "%{http_version} %{http_code} %{redirect_url}")
    assert told == f"2 302 https://{HOST}/there".encode()
    assert secure.curl("/gone", "-I", "-w", "%{http_code}").endswith(b"410")
    assert secure.curl("/none", "-w", "%{http_code}") == b"204"


def test_bad_input_is_one_line(recording: Path) -> None:
    assert "--tls-port: one port cannot" in refusal(recording, "--host", HOST, "--tls-port", "9000", port=9000)
    authority = recording / "half"
    open_authority(authority)
    (authority / "ca-key.pem").unlink()
    line = refusal(recording, "--host", HOST, "--authority", authority)
    assert line.startswith(f"{authority}/ca-key.pem: No such file or directory; remove {authority}")
    assert "speaks HTTP/1.0 only; leave out --http h2" in refusal(
        recording, "--host", HOST, "--server", "2013", "--http", "h2")


def test_early_hints_are_sent_again(secure: Secure) -> None:
    head = secure.curl("/hints", "--http2", "-i")
    assert head.startswith(b"HTTP/2 103 \r\nlink: </s.css>; rel=preload; as=style\r\n\r\nHTTP/2 200 \r\n"), head
    assert b"103" not in secure.curl("/hints", "--http1.1", "-i")


@pytest.mark.parametrize("protocol", ["--http2", "--http1.1"])
def test_a_part_of_a_body(secure: Secure, protocol: str) -> None:
    assert secure.curl("/video", protocol, "-r", "2-4") == b"deo"
    head = secure.curl("/video", protocol, "-r", "9-", "-i")
    assert head.split(b" ")[1] == b"416"
    wait_until(lambda: last(secure.server)[0].status == 416)    # noted once it is sent
    line = last(secure.server)[0]
    assert (line.bytes, line.path) == (0, "/video")
