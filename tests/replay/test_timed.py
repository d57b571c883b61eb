"""Answers in their time: servers that think (http_tfo.py --think), that pause, that hang, and that have no end.

A server waits before an answer as long as it did when it was recorded, less a round trip; it sends with the pauses that
it made; what nobody answered is left open, without a byte, until whoever asked leaves.
"""

import http.client
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.recording import HOST, MadeRecording
from tests.support.secure_replay import BIG, TEXT, Client, Secure, last, serving
from tests.support.waiting import wait_until

RTT_MS = 100
SLOW_MS = 500
PAUSE_MS = 300
FOREVER_MS = 3_600_000
WAITS_MS = {"/slow": RTT_MS + SLOW_MS, "/quick": RTT_MS + 2, "/at-once": RTT_MS - 50, "/forever": RTT_MS + FOREVER_MS,
            "/unknown": -1}
PIECES = b"first" * 1000 + b"last"
NEWS = b"data: 1\n\n"
STOPPED_MS = 2000
LATEST_MS = 60_000
"""What a busy machine may add."""
WHILE_S = 0.3
"""For so long nothing more comes."""


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    directory: Path = tmp_path_factory.mktemp("timed")
    recorded = MadeRecording(directory)
    for scheme in ("http", "https"):
        for path, wait_ms in WAITS_MS.items():
            recorded.add(f"{scheme}://{HOST}{path}", b"body", (*TEXT, ("ETag", '"1"')),
                         timings={"connect": -1, "wait": wait_ms})
        recorded.add(f"{scheme}://{HOST}/go", status=302, headers=(("Location", "/slow"),),
                     timings={"wait": RTT_MS + SLOW_MS})
        for path, status in (("/paused", 200), ("/lost", 404)):
            recorded.add(f"{scheme}://{HOST}{path}", PIECES, TEXT, status=status,
                         _arrivals=[[0, 5000], [PAUSE_MS, len(PIECES)]])
        recorded.add(f"{scheme}://{HOST}/big", BIG, TEXT)
        recorded.add(f"{scheme}://{HOST}/poll", status=0, version="", _error="unfinished", time=2500, connection="1")
        for path, later_ms in (("/news", PAUSE_MS), ("/no-more-news", 600_000)):
            recorded.add(f"{scheme}://{HOST}{path}", NEWS * 2, "text/event-stream",
                         _partial=True, _arrivals=[[0, 9], [later_ms, 18]])
    recorded.finish(f"https://{HOST}/slow")
    (directory / "recorded.rtts").write_text(f"{HOST} {RTT_MS}\n")
    with serving(directory, "--think", str(directory / "recorded.rtts"), "--http", "recorded") as server:
        yield server


def own_ms(secure: Secure, path: str) -> float:
    wait_until(lambda: [line.path for line in last(secure.server)] == [path])
    found = last(secure.server)[0].own_ms
    assert found is not None
    return found


@pytest.mark.parametrize(("path", "think_ms", "pause_ms", "comes"), [
    ("/slow", SLOW_MS, 0, (200, b"body")), ("/quick", 2, 0, (200, b"body")), ("/at-once", 0, 0, (200, b"body")),
    ("/unknown", 0, 0, (200, b"body")), ("/slow?stand-in", SLOW_MS, 0, (200, b"body")), ("/go", SLOW_MS, 0, (302, b"")),
    ("/missing", 0, 0, (404, b"not in the recording\n")), ("/paused", 0, PAUSE_MS, (200, PIECES)),
    ("/lost", 0, PAUSE_MS, (404, PIECES))])
@pytest.mark.parametrize("version", ["1.1", "h2"])
def test_so_long_it_takes(timed: Secure, *, version: str, path: str, think_ms: float, pause_ms: float,
                          comes: tuple[int, bytes]) -> None:
    """By its own log, from the request's head to the answer's first byte; and the client waits for that and for all."""
    began_s = time.monotonic()
    if version == "1.1":
        response, body = timed.server.get(path)
        status = response.status
        assert (response.will_close, response.getheader("Content-Length")) == (False, str(len(body)))
    else:
        with timed.connect("h2") as connection:
            headers, body = Client(connection).get(path)
        status = int(headers[b":status"])
    assert (time.monotonic() - began_s) * 1000 >= think_ms + pause_ms
    assert (status, body) == comes
    assert think_ms <= own_ms(timed, path) < think_ms + LATEST_MS


def test_a_head_has_no_pauses_and_what_the_client_has_is_thought_about_too(timed: Secure) -> None:
    client = http.client.HTTPConnection("127.0.0.1", timed.server.port)
    for method, path, headers, status in (("HEAD", "/paused", {}, 200), ("GET", "/paused", {}, 200),
                                          ("GET", "/slow", {"If-None-Match": '"1"'}, 304)):
        client.request(method, path, headers=headers)
        answer = client.getresponse()
        assert (answer.status, answer.read(), answer.will_close) == (
            status, PIECES if (method, status) == ("GET", 200) else b"", False)
    client.close()
    assert own_ms(timed, "/slow") >= SLOW_MS


def test_over_http2_others_are_answered_meanwhile(timed: Secure) -> None:
    with timed.connect("h2") as connection:
        client = Client(connection)
        hangs = client.ask("/poll")
        client.open.discard(hangs)
        slow, also_slow, paused, quick, big = map(client.ask, ("/slow", "/slow", "/paused", "/quick", "/big"))
        client.finish()
        assert client.answers[quick].ended < client.answers[slow].ended < client.answers[also_slow].ended
        assert [bytes(client.answers[each].body) for each in (slow, paused, big)] == [b"body", PIECES, BIG]
        assert client.answers[hangs].headers == []


def test_by_how_much_it_oversleeps_is_not_its_own_time(timed: Secure) -> None:
    """A load would count whose server stood still while it thought."""
    with timed.connect("h2") as connection:
        client = Client(connection)
        client.ask("/slow")
        connection.sendall(client.h2.data_to_send())
        time.sleep(SLOW_MS / 2000)
        for number, after_s in ((signal.SIGSTOP, STOPPED_MS / 1000), (signal.SIGCONT, 0)):
            for pid in timed.server.children():
                os.kill(pid, number)
            time.sleep(after_s)
        client.finish()
    assert SLOW_MS <= own_ms(timed, "/slow") < STOPPED_MS


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize(("path", "comes", "status", "found"), [
    ("/poll", 0, 0, "unanswered"), ("/forever", 0, 200, "plain"), ("/no-more-news", 1, 200, "plain"),
    ("/news", 2, 200, "plain")])
def test_what_has_no_end_is_left_open_until_the_client_leaves(timed: Secure, *, secured: bool, path: str, comes: int,
                                                              status: int, found: str) -> None:
    """The news in its time, and not before."""
    began_s = time.monotonic()
    connection: socket.socket = timed.connect("http/1.1") if secured else timed.server.connect()
    with connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        came = b""
        while came.count(NEWS) < comes:
            came += connection.recv(4096)
        assert time.monotonic() - began_s >= PAUSE_MS / 1000 * (comes - 1)
        assert b"Content-Length" not in came
        connection.settimeout(WHILE_S)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    wait_until(lambda: [line.path for line in last(timed.server)] == [path])
    line = last(timed.server)[0]
    assert (line.status, line.found, line.bytes, line.own_ms is None) == (status, found, comes * len(NEWS), not comes)
