"""WebSockets, replayed by a running server: what came, in its order and not before its time."""

import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from typing import Any

import pytest
from websocket import ABNF, WebSocketBadStatusException, WebSocketTimeoutException, create_connection

from tests.support.recording import HOST, RECORDED, MadeRecording
from tests.support.replay_process import Running, read_all, running
from tests.support.waiting import wait_until

HANDSHAKE_MS, LATE_MS = 100, 400


def message(kind: str, at_ms: float, data: str, opcode: int = 1) -> dict[str, Any]:
    return {"type": kind, "time": datetime.fromisoformat(RECORDED).timestamp() + at_ms / 1000, "opcode": opcode,
            "data": data}


SOCKETS = {
    "/talk": [message("receive", HANDSHAKE_MS + LATE_MS, "hello"), message("send", 510, "who?"),
              message("receive", 615, "me"), message("receive", 616, "AAE=", opcode=2),
              message("receive", 617, "1000", opcode=8)],
    "/packed": [message("receive", 100, "x" * 5000)],
    "/several?t=1363348800000": [message("receive", 100, "first")],
    "/several?t=1363348800001": [message("receive", 100, "second")],
    "/much-later": [message("receive", HANDSHAKE_MS + 60_000, "much later"),
                    message("receive", HANDSHAKE_MS + 60_001, "1000", opcode=8)],
    "/refused": []}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    recorded = MadeRecording(tmp_path_factory.mktemp("sockets"))
    recorded.add(f"http://{HOST}/", b"page")
    for path, messages in SOCKETS.items():
        headers = (("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Extensions", "permessage-deflate"))
        recorded.add(f"ws://{HOST}{path}", None, headers if path == "/packed" else (),
                     status=403 if path == "/refused" else 101, time=HANDSHAKE_MS, _webSocketMessages=messages)
    recorded.finish(f"http://{HOST}/")
    with running(recorded.directory) as server:
        yield server
        server.process.terminate()
        assert server.process.communicate()[1] == "", "whatever pages say, a server has nothing to complain about"


def logged(server: Running, path: str) -> list[tuple[int, str, int]]:
    return [(line.status, line.found, line.bytes) for line in server.log() if line.path == path]


def page(server: Running, path: str, **more: Any) -> Any:
    """Open the page's end of a WebSocket."""
    return closing(create_connection(f"ws://{HOST}{path}", socket=server.connect(), **more))


def test_messages_come_in_order_and_time_and_answers_wait_for_what_they_answer(server: Running) -> None:
    """Less the round trip of the recording: tests/mirror/messages.jsonl."""
    before_s = time.monotonic()         # a busy client hears late that it is accepted, never early
    with page(server, "/talk") as talk:
        assert talk.recv() == "hello"
        assert time.monotonic() - before_s > LATE_MS / 1000, "not before its time"
        talk.settimeout(0.3)
        with pytest.raises(WebSocketTimeoutException):
            talk.recv()
        talk.settimeout(None)
        talk.ping("there?")
        assert talk.recv_data(control_frame=True) == (ABNF.OPCODE_PONG, b"there?")
        talk.send("you?")
        assert [talk.recv(), talk.recv()] == ["me", b"\0\1"]
        assert talk.recv_data() == (ABNF.OPCODE_CLOSE, (1000).to_bytes(2, "big"))
    wait_until(lambda: logged(server, "/talk") == [(101, "live", 7 + 4 + 4 + 4)])       # of frames


def test_a_page_may_close_before_the_site_closes(server: Running) -> None:
    with page(server, "/much-later") as talk:
        talk.send_close(1001)
        assert talk.recv_data() == (ABNF.OPCODE_CLOSE, (1001).to_bytes(2, "big"))
        assert talk.sock.recv(1) == b""


def test_subprotocol_and_compression_are_agreed_on_as_they_were(server: Running) -> None:
    deflated = "permessage-deflate"
    with page(server, "/packed", subprotocols=["other", "chat"], header={"Sec-WebSocket-Extensions": deflated}) as talk:
        assert (talk.subprotocol, talk.headers["sec-websocket-extensions"]) == ("chat", deflated)
        [first, size, *payload] = talk.sock.recv(4096)
        assert (first, size) == (ABNF.OPCODE_TEXT | 0xC0, len(payload)), "the last frame, compressed (RFC 7692)"
        assert zlib.decompressobj(-zlib.MAX_WBITS).decompress(bytes(payload)) == b"x" * 5000


def test_which_of_several(server: Running) -> None:
    said = []
    for time_ms in (1_785_000_000_000, 1_363_348_800_001, 1_785_000_000_001):
        with page(server, f"/several?t={time_ms}") as talk:
            said.append(talk.recv())
    assert said == ["first", "second", "second"]


@pytest.mark.parametrize(("path", "status", "found"), [("/refused", 403, "status"), ("/none", 501, "live")])
def test_what_the_site_refused_or_never_had_is_refused(server: Running, path: str, status: int, found: str) -> None:
    with pytest.raises(WebSocketBadStatusException) as refused:
        page(server, path)
    assert refused.value.status_code == status
    wait_until(lambda: logged(server, path) == [(status, found, 0)])


def test_frames_and_handshakes_that_make_no_sense_end_the_connection(server: Running) -> None:
    for frames in (b"\xff" * 50, b"\x81\x01x", b"\x81" + b"\xff" * 9, b"\x88\x81\0\0\0\0x", b""):
        with page(server, "/much-later") as talk:
            talk.sock.sendall(frames)
            talk.sock.shutdown(socket.SHUT_WR)
            read_all(talk.sock)
    for lines in (b"", b"Sec-WebSocket-Key: x\r\n", b"Connection: Upgrade\r\nSec-WebSocket-Version: 1\r\n"):
        with server.connect() as client:
            head = b"GET /talk HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n" + lines + b"\r\n"
            with suppress(OSError):     # the server may have left
                client.sendall(head + bytes(100_000))
            assert b"101" not in read_all(client)
    with page(server, "/talk") as talk:
        assert talk.connected, "the server goes on"
