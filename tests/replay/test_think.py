"""http_tfo.py --think: a server waits before an answer as long as it did when it was recorded, less a round trip."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import TEXT, Client, Secure, last, serving
from tests.support.waiting import wait_until

RTT_MS = 100
SLOW_MS = 500
FOREVER_MS = 3_600_000
WAITS_MS = {"/slow": RTT_MS + SLOW_MS, "/quick": RTT_MS + 2, "/at-once": RTT_MS - 50, "/forever": RTT_MS + FOREVER_MS,
            "/unknown": -1}
STOPPED_MS = 2000
LATEST_MS = 60_000
"""What a busy machine may add."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("think")
    recorded = HttpsRecording(directory)
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        for path, wait_ms in WAITS_MS.items():
            recorded.add(f"{scheme}://{HOST}{path}", b"body", (*TEXT, ("ETag", '"1"')), version=version,
                         timings={"connect": -1, "wait": wait_ms})
        recorded.add(f"{scheme}://{HOST}/go", status=302, headers=(("Location", "/slow"),), version=version,
                     timings={"wait": RTT_MS + SLOW_MS})
    recorded.finish(f"https://{HOST}/slow")
    (directory / "recorded.rtts").write_text(f"{HOST} {RTT_MS}\n")
    return directory


@pytest.fixture(scope="module")
def thinking(recording: Path) -> Iterator[Secure]:
    port = free_port()
    with serving(recording, "--think", str(recording / "recorded.rtts"), "--http", "recorded", tls_port=port) as server:
        yield Secure(server, port, recording)


def own_ms(secure: Secure, path: str) -> float:
    wait_until(lambda: [line.path for line in last(secure.server)] == [path])
    found = last(secure.server)[0].own_ms
    assert found is not None
    return found


def answer(secure: Secure, version: str, path: str) -> tuple[int, bytes]:
    """Return the status and the body of an answer."""
    if version == "1.1":
        response, body = secure.server.get(path)
        return response.status, body
    with secure.connect("h2") as connection:
        headers, body = Client(connection).get(path)
    return int(headers[b":status"]), body


@pytest.mark.parametrize(("path", "think_ms"), [("/slow", SLOW_MS), ("/quick", 2), ("/at-once", 0), ("/unknown", 0),
                                                ("/slow?stand-in", SLOW_MS), ("/go", SLOW_MS), ("/missing", 0)])
@pytest.mark.parametrize("version", ["1.1", "h2"])
def test_so_long_it_thinks(thinking: Secure, version: str, path: str, think_ms: float) -> None:
    """By its own log, from the request's head to the answer's first byte; and the client waits for that."""
    began_s = time.monotonic()
    assert answer(thinking, version, path) in ((200, b"body"), (302, b""), (404, b"not in the recording\n"))
    assert (time.monotonic() - began_s) * 1000 >= think_ms
    assert think_ms <= own_ms(thinking, path) < think_ms + LATEST_MS


def test_by_how_much_it_oversleeps_is_not_its_own_time(thinking: Secure) -> None:
    """A load would count whose server stood still while it thought."""
    with thinking.connect("h2") as connection:
        client = Client(connection)
        client.ask("/slow")
        connection.sendall(client.h2.data_to_send())
        stop_while_it_thinks(thinking)
        client.finish()
    assert SLOW_MS <= own_ms(thinking, "/slow") < STOPPED_MS


def stop_while_it_thinks(secure: Secure) -> None:
    time.sleep(SLOW_MS / 2000)
    servers = secure.server.children()
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_MS / 1000)
    for pid in servers:
        os.kill(pid, signal.SIGCONT)


def test_what_the_client_has_already_is_thought_about_too(thinking: Secure) -> None:
    with thinking.connect("h2") as connection:
        headers, _ = Client(connection).get("/slow", "GET", ("if-none-match", '"1"'))
    assert headers[b":status"] == b"304"
    assert own_ms(thinking, "/slow") >= SLOW_MS


def test_over_http2_others_are_answered_meanwhile(thinking: Secure) -> None:
    with thinking.connect("h2") as connection:
        client = Client(connection)
        slow, also_slow, quick = (client.ask(path) for path in ("/slow", "/slow", "/quick"))
        client.finish()
        assert bytes(client.answers[slow].body) == b"body"
        assert [client.answers[stream].ended for stream in (quick, slow, also_slow)] == [0, 1, 2]


def test_a_client_that_leaves_is_not_waited_for(thinking: Secure) -> None:
    with thinking.server.connect() as plain:
        plain.sendall(f"GET /forever HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    wait_until(lambda: [line.path for line in last(thinking.server)] == ["/forever"])
    line = last(thinking.server)[0]
    assert (line.bytes, line.own_ms) == (0, None)
