"""What Chrome wrote to sockets and read from them, made by libraries; made by hand: tests/corpus/netlogs/made.jsonl."""

import base64
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

from harness.files.exchange import Answer
from harness.files.moments import moment_at
from harness.netlog import websockets
from harness.netlog.file import read_netlog_file
from harness.netlog.sent import Sent, read_sent_bodies
from harness.netlog.socket_bytes import Socket, Sockets
from harness.netlog.websockets import OVERHEAD_BYTES, read_websockets
from tests.support.made_netlog import write_made


def sockets_in(log: Path) -> Collection[Socket]:
    """Return what passed the sockets of a net-log."""
    sockets = Sockets()
    read_netlog_file(log, sockets, problems=[])
    return sockets.found.values()


def written(directory: Path, *passed: tuple[int, str, bytes], kind: str = "SOCKET") -> Path:
    """Write a net-log of what passed one socket: ticks, ways, and bytes."""
    return write_made([[tick, "SOCKET", 7, f"{kind}_BYTES_{way}", {"bytes": base64.b64encode(data).decode()}]
                       for tick, way, data in passed], directory / "log")


class Pair:
    """Both ends of a WebSocket with compressed messages; `passed` is what the page and the site have sent."""

    def __init__(self) -> None:
        self.page, self.site = WSConnection(ConnectionType.CLIENT), WSConnection(ConnectionType.SERVER)
        asked = self.page.send(Request(host="a.test", target="/live?x=1", extensions=[PerMessageDeflate()]))
        self.site.receive_data(asked)
        assert [*self.site.events()]
        granted = self.site.send(AcceptConnection(extensions=[PerMessageDeflate()]))
        self.page.receive_data(granted)
        assert [*self.page.events()]
        self.passed = [(10, "SENT", asked), (20, "RECEIVED", granted)]

    def read(self, directory: Path, end_tick: float | None = None) -> list[Answer]:
        """Return what is read from a net-log of what passed."""
        log = written(directory, *self.passed)
        return [found.answer for found in read_websockets(sockets_in(log), moment_at, end_tick)]


def test_what_closing_chrome_says_is_not_the_pages(tmp_path: Path) -> None:
    pair = Pair()
    pair.passed.append((30, "SENT", pair.page.send(CloseConnection(code=1001))))
    assert [[len(found.messages or ()) for found in pair.read(tmp_path, end)] for end in (30, 29, 19)] == [[1], [0], []]


def test_what_there_is_no_room_for_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, pair = websockets._Room, Pair()
    pair.passed += [(20, "RECEIVED", pair.site.send(TextMessage("x" * 1000))) for _ in range(3)]
    for left, number in ((3 * (1000 + 3 * OVERHEAD_BYTES), 3), (2500, 2), (999, 0)):
        monkeypatch.setattr(websockets, "_Room", partial(make, left))
        found, = pair.read(tmp_path)
        assert (len(found.messages or ()), found.partial) == (number, number != 3)


def test_a_bomb_is_not_kept_but_what_came_before_it(tmp_path: Path) -> None:
    pair = Pair()
    pair.passed.append((20, "RECEIVED", pair.site.send(TextMessage("x" * 1000))))
    bomb = pair.site.send(TextMessage("0" * 30_000_000))
    assert len(bomb) < 60_000
    pair.passed += [(30 + at, "RECEIVED", bomb[at:at + 4096]) for at in range(0, len(bomb), 4096)]
    found, = pair.read(tmp_path)
    assert ([len(message.data) for message in found.messages or ()], found.partial) == ([1000], True)


def test_http2_with_interleaved_streams_and_a_server_that_allows_more_than_the_usual_table(tmp_path: Path) -> None:
    """Chrome tells so in the first headers after the server's settings; all that followed there was lost."""
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    server = H2Connection(H2Configuration(client_side=False))
    server.update_settings({SettingCodes.HEADER_TABLE_SIZE: 65_536})
    asked = {1: "/before", 3: "/after", 5: "/later"}
    for stream, target in asked.items():
        connection.send_headers(stream, [(":method", "POST"), (":path", target), (":scheme", "https"),
                                         (":authority", "a.test"), ("x-long", target * 6000)])
        connection.send_data(stream, target.encode())
        if stream == 1:
            connection.receive_data(server.data_to_send())
    for stream in asked:
        connection.send_data(stream, b" more", end_stream=True)
    log = written(tmp_path, (1, "SENT", connection.data_to_send()), kind="SSL_SOCKET")
    assert read_sent_bodies(sockets_in(log)) == {
        ("POST", f"https://a.test{target}"): [Sent(7, f"{target} more".encode())] for target in asked.values()}
