"""WebSockets and streams of news, replayed by a running server: what came, in its order and not before its time."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate

from harness.mirror.recording import read_recording
from tests.support.https_recording import RECORDED, Headers, HttpsRecording
from tests.support.replay_process import HOST, Running, read_all, running
from tests.support.waiting import wait_until

HANDSHAKE_MS = 100
NEWS = b"data: 1\n\n", b"data: 2\n\n"
PAUSE_MS = 300


def message(kind: str, at_ms: float, data: str, opcode: int = 1) -> dict[str, Any]:
    return {"type": kind, "time": datetime.fromisoformat(RECORDED).timestamp() + at_ms / 1000, "opcode": opcode,
            "data": data}


def record(directory: Path, *sockets: tuple[str, Sequence[dict[str, Any]]], status: int = 101, headers: Headers = (),
           arrivals: Sequence[Any] = ((0, 9), (PAUSE_MS, 18))) -> None:
    """Write the recording that `running` serves: WebSockets with their messages, and a stream of news."""
    recorded = HttpsRecording(directory)
    recorded.add(f"http://{HOST}/news", b"".join(NEWS), (("content-type", "text/event-stream"),), version="HTTP/1.1",
                 _partial=True, _arrivals=list(arrivals))
    for path, messages in sockets:
        recorded.add(f"ws://{HOST}{path}", None, headers, status=status, version="HTTP/1.1", time=HANDSHAKE_MS,
                     _webSocketMessages=list(messages))
    recorded.finish(f"http://{HOST}/")


class Page:
    """The page's end of a WebSocket."""

    def __init__(self, server: Running, path: str, **more: Any) -> None:
        self.socket = server.connect()
        self.protocol = WSConnection(ConnectionType.CLIENT)
        self.socket.sendall(self.protocol.send(Request(host=HOST, target=path, **more)))
        self.events: list[Event] = []
        self.began_s = time.monotonic()

    def next(self) -> Event:
        while not self.events:
            data = self.socket.recv(4096)
            assert data, "the connection ended"
            self.protocol.receive_data(data)
            self.events += self.protocol.events()
        return self.events.pop(0)

    def say(self, text: str) -> None:
        self.socket.sendall(self.protocol.send(TextMessage(text)))


@contextmanager
def page(server: Running, path: str, **more: Any) -> Iterator[Page]:
    talking = Page(server, path, **more)
    with talking.socket:
        yield talking


def test_messages_come_in_order_and_answers_wait_for_what_they_answer(tmp_path: Path) -> None:
    record(tmp_path, ("/talk", [
        message("receive", 100, "hello"), message("send", 110, "who?"), message("receive", 215, "me"),
        message("receive", 216, "AAE=", opcode=2), message("receive", 217, "1000", opcode=8)]))
    with running(tmp_path) as server:
        with page(server, "/talk") as talk:
            assert isinstance(talk.next(), AcceptConnection)
            assert talk.next() == TextMessage("hello")
            talk.socket.settimeout(0.3)
            with pytest.raises(TimeoutError):
                talk.next()
            talk.socket.settimeout(None)
            talk.say("you?")
            assert talk.next() == TextMessage("me")
            assert talk.next() == BytesMessage(b"\0\1")
            closed = talk.next()
            assert isinstance(closed, CloseConnection)
            assert closed.code == 1000
        wait_until(lambda: [(line.status, line.found, line.bytes) for line in server.log() if line.path == "/talk"] == [
            (101, "live", 7 + 4 + 4 + 4)])         # its frames


def test_a_message_keeps_its_time_less_the_round_trip_of_the_recording(tmp_path: Path) -> None:
    record(tmp_path, ("/a", [message("receive", HANDSHAKE_MS + 400, "late")]),
           ("/b", [message("send", 200, "x"), message("receive", 200 + HANDSHAKE_MS, "answer")]))
    live = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog").live["http", HOST]
    assert [round(message.after_ms) for connection in live for message in connection.messages] == [400, 0]
    with running(tmp_path) as server:
        before_s = time.monotonic()         # a busy client hears late that it is accepted, never early
        with page(server, "/a") as talk:
            talk.next()
            talk.next()
            assert time.monotonic() - before_s > 0.4, "not before its time"


def test_subprotocol_and_compression_are_agreed_on_as_they_were(tmp_path: Path) -> None:
    record(tmp_path, ("/a", [message("receive", 100, "x" * 5000)]), headers=(
        ("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Extensions", "permessage-deflate")))
    with running(tmp_path) as server, \
            page(server, "/a", subprotocols=["other", "chat"], extensions=[PerMessageDeflate()]) as talk:
        accepted = talk.next()
        assert isinstance(accepted, AcceptConnection)
        assert accepted.subprotocol == "chat"
        assert [type(extension) for extension in accepted.extensions] == [PerMessageDeflate]
        assert talk.next() == TextMessage("x" * 5000)


def test_which_of_several_and_none_where_none_was_recorded(tmp_path: Path) -> None:
    record(tmp_path, *((f"/a?t={time_ms}", [message("receive", 100, name)]) for time_ms, name in (
        (1_363_348_800_000, "first"), (1_363_348_800_001, "second"))))
    with running(tmp_path) as server:
        said = []
        for path in ("/a?t=1785000000000", "/a?t=1363348800001", "/a?t=1785000000001"):
            with page(server, path) as talk:
                talk.next()
                said.append(talk.next())
        with page(server, "/none") as talk:
            refused = talk.next()
    assert [event.data for event in said if isinstance(event, TextMessage)] == ["first", "second", "second"]
    assert isinstance(refused, RejectConnection)
    assert refused.status_code == 501


def test_what_the_site_refused_is_refused_again(tmp_path: Path) -> None:
    record(tmp_path, ("/a", []), status=403)
    with running(tmp_path) as server, page(server, "/a") as talk:
        refused = talk.next()
        assert isinstance(refused, RejectConnection)
        assert refused.status_code == 403
        wait_until(lambda: [(line.status, line.found) for line in server.log()] == [(403, "status")])


def test_a_stream_of_news_keeps_its_times_and_stays_open(tmp_path: Path) -> None:
    record(tmp_path)
    with running(tmp_path) as server:
        with server.connect() as client:
            asked_s = time.monotonic()          # a busy client hears late of what came first, never early of the rest
            client.sendall(f"GET /news HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            came = b""
            while NEWS[1] not in came:
                came += client.recv(4096)
            assert NEWS[0] in came
            assert time.monotonic() - asked_s > PAUSE_MS / 1000 * 0.8, "not before its time"
            assert b"Content-Length" not in came
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(1)
            client.shutdown(socket.SHUT_WR)
        wait_until(lambda: [(line.status, line.found, line.bytes) for line in server.log() if line.path == "/news"] == [
            (200, "plain", 18)])


def test_frames_and_handshakes_that_make_no_sense_end_the_connection(tmp_path: Path) -> None:
    record(tmp_path, ("/a", [message("receive", HANDSHAKE_MS + 60_000, "much later")]))
    with running(tmp_path) as server:
        for frames in (b"\xff" * 50, b"\x81\x01x", b"\x81" + b"\xff" * 9, b"\x88\x81\0\0\0\0x", b""):
            with page(server, "/a") as talk:
                talk.next()
                talk.socket.sendall(frames)
                talk.socket.shutdown(socket.SHUT_WR)
                read_all(talk.socket)
        for head in (b"", b"Sec-WebSocket-Key: x\r\n", b"Connection: Upgrade\r\nSec-WebSocket-Version: 1\r\n"):
            with server.connect() as client:
                client.sendall(b"GET /a HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n" + head + b"\r\n")
                assert b"101" not in read_all(client)
        with page(server, "/a") as talk:
            assert isinstance(talk.next(), AcceptConnection), "the server goes on"


def test_who_leaves_before_the_news_is_noticed_at_once(tmp_path: Path) -> None:
    record(tmp_path, arrivals=[(0, 9), (600_000, 18)])
    with running(tmp_path) as server:
        with server.connect() as client:
            client.sendall(f"GET /news HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            came = b""
            while NEWS[0] not in came:
                came += client.recv(4096)
        wait_until(lambda: [(line.status, line.bytes) for line in server.log()] == [(200, 9)])
