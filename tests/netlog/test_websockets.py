"""WebSockets read from the bytes that passed Chrome's sockets: messages whole, bounded, and nonsense left out."""

import base64
import json
from functools import partial
from pathlib import Path

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request, TextMessage
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import Opcode

from harness.netlog import websockets
from harness.netlog.websockets import OVERHEAD_BYTES, WebSocket
from tests.support.read_netlogs import websockets_in

TYPES = {"SOCKET_BYTES_SENT": 1, "SOCKET_BYTES_RECEIVED": 2, "SSL_SOCKET_BYTES_SENT": 3, "SSL_SOCKET_BYTES_RECEIVED": 4}
SENT, RECEIVED, TLS = 1, 2, 2
GET = b"GET /live HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
GRANTED = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


def read(directory: Path, *passed: tuple[int, int, bytes]) -> list[WebSocket]:
    """Return what is read from a net-log of events at one socket: tick, type, bytes."""
    events = [json.dumps({"time": str(tick), "type": kind, "phase": 0, "source": {"id": 7, "type": 1},
                          "params": {"byte_count": len(data), "bytes": base64.b64encode(data).decode()}})
              for tick, kind, data in passed]
    log = directory / "log"
    constants = json.dumps({"logEventTypes": TYPES, "logSourceType": {"SOCKET": 1}})
    log.write_text(f'{{"constants": {constants},\n"events": [\n' + ",\n".join(events) + "]}")
    return websockets_in(log)


class Pair:
    """Both ends of a WebSocket; what each says is what passed."""

    def __init__(self, *, compressed: bool = False) -> None:
        deflate = [PerMessageDeflate()] if compressed else []
        self.page, self.site = WSConnection(ConnectionType.CLIENT), WSConnection(ConnectionType.SERVER)
        self.asked = self.page.send(Request(host="a.test", target="/live?x=1", extensions=[*deflate]))
        self.site.receive_data(self.asked)
        assert [*self.site.events()]
        self.granted = self.site.send(AcceptConnection(extensions=[PerMessageDeflate()] if compressed else []))
        self.page.receive_data(self.granted)
        assert [*self.page.events()]


@pytest.mark.parametrize("compressed", [False, True])
def test_messages_of_both_sides_with_their_times(tmp_path: Path, compressed: bool) -> None:
    pair = Pair(compressed=compressed)
    hello = pair.site.send(TextMessage("hällo " * 200)) + pair.site.send(Ping())
    answer = pair.page.send(TextMessage("an", message_finished=False)) + pair.page.send(TextMessage("swer"))
    rest = pair.site.send(BytesMessage(b"\0\1")) + pair.site.send(CloseConnection(code=1000))
    found, = read(tmp_path, (10, SENT + TLS, pair.asked), (20, RECEIVED + TLS, pair.granted + hello[:3]),
                  (25, RECEIVED + TLS, hello[3:]), (30, SENT + TLS, answer), (40, RECEIVED + TLS, rest),
                  (10, SENT, b"\x16\x03 noise"))
    assert (found.url, found.asked_tick, found.opened_tick, found.whole) == ("wss://a.test/live?x=1", 10, 20, True)
    assert [(said.tick, said.received, said.opcode, said.data) for said in found.messages] == [
        (25, True, Opcode.TEXT, ("hällo " * 200).encode()), (30, False, Opcode.TEXT, b"answer"),
        (40, True, Opcode.BINARY, b"\0\1"), (40, True, Opcode.CLOSE, b"1000")]


def test_what_the_page_answers_at_once_comes_after_what_it_answers(tmp_path: Path) -> None:
    """Ticks are milliseconds: a page may answer within one, and a site that is near."""
    pair = Pair()
    hello, thanks = pair.site.send(TextMessage("hello")), pair.page.send(TextMessage("thanks"))
    welcome = pair.site.send(TextMessage("welcome"))
    found, = read(tmp_path, (10, SENT, pair.asked), (10, RECEIVED, pair.granted), (10, RECEIVED, hello),
                  (10, SENT, thanks), (10, RECEIVED, welcome))
    assert [said.data for said in found.messages] == [b"hello", b"thanks", b"welcome"]


def test_what_closing_chrome_says_is_not_the_pages(tmp_path: Path) -> None:
    pair = Pair()
    closed = pair.page.send(CloseConnection(code=1001))
    read(tmp_path, (10, SENT, pair.asked), (20, RECEIVED, pair.granted), (30, SENT, closed))
    assert [len(found.messages) for found in websockets_in(tmp_path / "log", 30)] == [1]
    assert [len(found.messages) for found in websockets_in(tmp_path / "log", 29)] == [0]
    assert websockets_in(tmp_path / "log", 19) == []


def test_a_refusal_is_kept_as_one(tmp_path: Path) -> None:
    found, = read(tmp_path, (1, SENT, GET), (2, RECEIVED, b"HTTP/1.1 404 Not Found\r\n\r\n<p>none"))
    assert (found.url, found.status, found.messages) == ("ws://a.test/live", 404, ())


def test_what_there_is_no_room_for_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = websockets._Room
    pair = Pair(compressed=True)
    said = [pair.site.send(TextMessage("x" * 1000)) for _ in range(3)]
    for left, number in ((3 * (1000 + 3 * OVERHEAD_BYTES), 3), (2500, 2), (999, 0)):
        monkeypatch.setattr(websockets, "_Room", partial(make, left))
        found, = read(tmp_path, (1, SENT, pair.asked), (2, RECEIVED, pair.granted + b"".join(said)))
        assert (len(found.messages), found.whole) == (number, number == 3)


def test_a_bomb_is_not_kept(tmp_path: Path) -> None:
    pair = Pair(compressed=True)
    bomb = pair.site.send(TextMessage("0" * 30_000_000))
    assert len(bomb) < 60_000
    pieces = [(3 + at, RECEIVED, bomb[at:at + 4096]) for at in range(0, len(bomb), 4096)]
    found, = read(tmp_path, (1, SENT, pair.asked), (2, RECEIVED, pair.granted), *pieces)
    assert (found.messages, found.whole) == ((), False)


@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1", b"\r\n\r\n", b"101\r\n\r\n", b"HTTP/1.1 999 x\r\n\r\n", GRANTED[:-1],
    b"HTTP/1.1 101 x\r\nSec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99\r\n\r\n\xc1\x01x"])
def test_an_answer_that_makes_no_sense_is_no_websocket(tmp_path: Path, answer: bytes) -> None:
    assert read(tmp_path, (1, SENT, GET), (2, RECEIVED, answer)) == []


@pytest.mark.parametrize("frames", [b"\xff" * 100, b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x81\x02\xff\xff",
                                    b"\x80\x01x", b"\x88\x01x", b"\xc1\x01x"])
def test_frames_that_make_no_sense_end_the_connection(tmp_path: Path, frames: bytes) -> None:
    found, = read(tmp_path, (1, SENT, GET), (2, RECEIVED, GRANTED + b"\x81\x02ok" + frames + b"\x81\x02ok"))
    assert found.messages[0].data == b"ok"
    assert [said.opcode for said in found.messages[1:]] in ([Opcode.CLOSE], []), "nothing is read after nonsense"
