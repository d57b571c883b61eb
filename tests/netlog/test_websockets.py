"""How much of what WebSockets say is kept; what is read of them: tests/corpus/netlogs/made.jsonl."""

import base64
from functools import partial
from pathlib import Path

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

from harness.files.exchange import Answer
from harness.netlog import websockets
from harness.netlog.websockets import OVERHEAD_BYTES
from tests.support.made_netlog import write_made
from tests.support.read_netlogs import websockets_in


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
        events = [[tick, "SOCKET", 7, f"SOCKET_BYTES_{way}", {"bytes": base64.b64encode(data).decode()}]
                  for tick, way, data in self.passed]
        return [found.answer for found in websockets_in(write_made(events, directory / "log"), end_tick)]


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


def test_a_bomb_is_not_kept(tmp_path: Path) -> None:
    pair = Pair()
    bomb = pair.site.send(TextMessage("0" * 30_000_000))
    assert len(bomb) < 60_000
    pair.passed += [(30 + at, "RECEIVED", bomb[at:at + 4096]) for at in range(0, len(bomb), 4096)]
    found, = pair.read(tmp_path)
    assert (found.messages, found.partial) == ((), True)
