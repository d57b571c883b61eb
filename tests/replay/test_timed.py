"""Answers in their time: servers that think (http_tfo.py --think), that pause, that hang, and that have no end.

A server waits before an answer as long as it did when it was recorded, less a round trip; it sends with the pauses that
it made; what nobody answered is left open, without a byte, until whoever asked leaves.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.files.server_log import ServerRequest
from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import Running, running
from tests.support.secure_replay import BIG, TEXT, speaking_h2
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
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
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
    with running(directory, "--think", str(directory / "recorded.rtts"), "--http", "recorded") as server:
        yield server


def noted(server: Running, path: str) -> ServerRequest:
    """Return the last line of the log, once it is that of a request for `path`."""
    wait_until(lambda: [line.path for line in server.log()[-1:]] == [path])
    return server.log()[-1]


@pytest.mark.parametrize(("asked", "think_ms", "pause_ms", "comes"), [
    (["/slow"], SLOW_MS, 0, (200, b"body")), (["/at-once"], 0, 0, (200, b"body")),
    (["/unknown"], 0, 0, (200, b"body")), (["/slow?stand-in"], SLOW_MS, 0, (200, b"body")),
    (["/slow", "GET", ("if-none-match", '"1"')], SLOW_MS, 0, (304, b"")), (["/go"], SLOW_MS, 0, (302, b"")),
    (["/missing"], 0, 0, (404, b"not in the recording\n")), (["/paused"], 0, PAUSE_MS, (200, PIECES)),
    (["/paused", "HEAD"], 0, 0, (200, b"")), (["/lost"], 0, PAUSE_MS, (404, PIECES))])
@pytest.mark.parametrize("version", ["1.1", "h2"])
def test_so_long_it_takes(timed: Running, *, version: str, asked: list[Any], think_ms: float, pause_ms: float,
                          comes: tuple[int, bytes]) -> None:
    """By its own log, from the request's head to the answer's first byte; and the client waits for that and for all."""
    began_s = time.monotonic()
    if version == "1.1":
        response, body = timed.get(*asked)
        assert ((response.status, body), response.will_close) == (comes, False)
    else:
        with speaking_h2(timed) as client:
            answer = client.get(*asked)
        assert (answer.status, bytes(answer.body)) == comes
    assert (time.monotonic() - began_s) * 1000 >= think_ms + pause_ms
    assert think_ms <= (noted(timed, asked[0]).own_ms or 0) < think_ms + LATEST_MS


def test_over_http2_others_are_answered_meanwhile(timed: Running) -> None:
    with speaking_h2(timed) as client:
        hangs, endless = map(client.ask, ("/poll", "/forever"))
        client.open -= {hangs, endless}
        slow, also_slow, paused, quick, big = map(client.ask, ("/slow", "/slow", "/paused", "/quick", "/big"))
        client.finish()
        assert client.answers[quick].ended < client.answers[slow].ended < client.answers[also_slow].ended
        assert [bytes(client.answers[each].body) for each in (slow, paused, big)] == [b"body", PIECES, BIG]
        assert client.answers[hangs].headers == []
    wait_until(lambda: {"/poll", "/forever"} <= {line.path for line in timed.log() if line.protocol == "h2"})


def test_by_how_much_it_oversleeps_is_not_its_own_time(timed: Running) -> None:
    """A load would count whose server stood still while it thought."""
    with speaking_h2(timed) as client:
        client.ask("/slow")
        client.socket.sendall(client.h2.data_to_send())
        time.sleep(SLOW_MS / 2000)
        for number, after_s in ((signal.SIGSTOP, STOPPED_MS / 1000), (signal.SIGCONT, 0)):
            for pid in timed.children():
                os.kill(pid, number)
            time.sleep(after_s)
        client.finish()
    assert SLOW_MS <= (noted(timed, "/slow").own_ms or 0) < STOPPED_MS


@pytest.mark.parametrize(("path", "comes", "status", "found"), [
    ("/poll", 0, 0, "unanswered"), ("/forever", 0, 200, "plain"), ("/no-more-news", 1, 200, "plain"),
    ("/news", 2, 200, "plain")])
def test_what_has_no_end_is_left_open_until_the_client_leaves(timed: Running, *, path: str, comes: int, status: int,
                                                              found: str) -> None:
    """The news in its time, and not before."""
    began_s = time.monotonic()
    with timed.secure("http/1.1") as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        came = b""
        while came.count(NEWS) < comes:
            came += connection.recv(4096)
        assert time.monotonic() - began_s >= PAUSE_MS / 1000 * (comes - 1)
        assert b"Content-Length" not in came
        connection.settimeout(WHILE_S)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    line = noted(timed, path)
    assert (line.status, line.found, line.bytes, line.own_ms is None) == (status, found, comes * len(NEWS), not comes)
