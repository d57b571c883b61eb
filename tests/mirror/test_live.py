"""Live connections in HARs that anybody may have written: what makes no sense is left out, and every number bounded."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.files.experiment import LiveLeftOut
from harness.files.har import exchanges_of, from_har
from harness.mirror.exchanges import read_page
from harness.mirror.live import LONGEST_MS, arrivals_of, live_left_out, read_live

INFINITE = float("inf")


def messages(*said: dict[str, Any], url: str = "wss://a.test/x", **entry: Any) -> list[tuple[float, int, bytes]]:
    """Return what is read of a WebSocket in a HAR."""
    opened = {"startedDateTime": "2026-09-21T14:13:20.000+00:00", "time": 100, "request": {"url": url},
              "response": {"status": 101, "headers": []}, "_webSocketMessages": list(said)} | entry
    found = read_live(exchanges_of([opened]), INFINITE)
    return [(message.after_ms, message.opcode, message.data) for connection in found for message in connection.messages]


def received(data: Any, opcode: Any = 1, time: Any = 1_790_000_000.1) -> dict[str, Any]:
    return {"type": "receive", "time": time, "opcode": opcode, "data": data}


def test_pauses_are_bounded() -> None:
    found = messages(received("a"), received("b", time=1e300), received("c", time=-1e300))
    assert [after_ms for after_ms, _, _ in found] == [0, LONGEST_MS, 0]


def test_a_handshake_was_over_when_the_first_message_came() -> None:
    """What DevTools write as the time of a WebSocket's entry lasts until its end."""
    assert messages(received("a"), received("b", time=1_790_000_000.3), time=60_000) == [
        (0, 1, b"a"), (pytest.approx(200, abs=1), 1, b"b")]


def test_nothing_follows_a_close() -> None:
    assert messages(received("1000", 8), received("x"))[-1][1:] == (8, b"1000")


@pytest.mark.parametrize("said", [
    received("x", 8), received("99999", 8), received("-1", 8), received("x", 0), received("x", 9), received("x", 2),
    received("x", 1e300), received("x", None), received("x", time="soon"), {"type": "receive"}, {}, 7, None])
def test_a_websocket_that_makes_no_sense_is_left_out(said: Any) -> None:
    assert messages(said) == []


def test_an_entry_that_is_none_is_left_out() -> None:
    entries: list[dict[str, Any]] = [{"response": None}, {"response": {"status": 0, "headers": []}},
                                     {"request": []}, {"_webSocketMessages": "x"}]
    assert messages(received("x"), url="https://a.test/") == []
    for strange in entries:
        assert messages(received("x"), **strange) == []


def test_arrivals_ascend_and_are_bounded() -> None:
    entry: dict[str, Any] = {"request": {"url": "http://a.test/"}, "response": {}}
    assert arrivals_of(from_har(entry | {"_arrivals": [[900, 5], [-1, 3], [1e300, 4]]}), INFINITE) == (
        ((0, 3), (900, 5), (LONGEST_MS, 5)), False)
    assert arrivals_of(from_har(entry), INFINITE) == ((), False)
    for strange in ([[1]], [1], "x", [["a", 1]], [[1, None]]):
        with pytest.raises((ValueError, TypeError)):
            from_har(entry | {"_arrivals": strange})


def test_what_came_after_the_load_event_is_left_out() -> None:
    began = "2026-09-21T14:13:20.000+00:00"
    began_s = BEGAN_S
    stream: dict[str, Any] = {"request": {"url": "http://a.test/"}, "response": {},
                              "startedDateTime": began, "timings": {"blocked": -1, "wait": 100},
                              "_arrivals": [[0, 3], [150, 9]]}
    assert arrivals_of(from_har(stream), began_s) == (((0, 3), (150, 9)), False)      # in pieces, and with an end
    stream["_partial"] = True
    assert arrivals_of(from_har(stream), began_s + 0.3) == (((0, 3), (150, 9)), False)
    assert arrivals_of(from_har(stream), began_s + 0.2) == (((0, 3),), True)
    assert arrivals_of(from_har(stream), began_s + 0.05) == (((0, 0),), True)
    said = [received("a", time=began_s + 1), received("b", time=began_s + 3)]
    opened = {"startedDateTime": began, "time": 0, "request": {"url": "ws://a.test/"},
              "response": {"status": 101, "headers": []}, "_webSocketMessages": said}
    assert [message.data for message in read_live(exchanges_of([opened]), began_s + 2)[0].messages] == [b"a"]


def test_a_load_event_that_is_not_known_is_none(tmp_path: Path) -> None:
    began = "2026-09-21T14:13:20.000+00:00"
    unknown_logs: list[dict[str, Any]] = [{}, {"pages": []}, {"pages": [{}]}, {"pages": 7}, {"pages": [
        {"startedDateTime": began, "pageTimings": {"onLoad": -1}}]}]
    for unknown in unknown_logs:
        (tmp_path / "x.har").write_text(json.dumps({"log": unknown | {"entries": []}}))
        page = read_page(tmp_path / "x.har", [])
        assert page is not None
        assert page.load_event_s == INFINITE


BEGAN_S = 1_790_000_000.0
"""2026-09-21T14:13:20Z; the load event came a second later."""


def feed(*said: dict[str, Any], arrivals: list[list[float]] | None = None, on_load_ms: Any = 1000) -> dict[str, Any]:
    """Return the HAR of a page with a WebSocket, and with a stream of events whose head came after 100 ms."""
    began = "2026-09-21T14:13:20.000+00:00"
    asked: list[dict[str, Any]] = [
        {"startedDateTime": began, "request": {"url": "http://a.test/"}, "response": {}},
        {"startedDateTime": began, "request": {"url": "http://a.test/events"}, "response": {},
         "_arrivals": arrivals or [], "_partial": True,
         "timings": {"wait": 100, "receive": 5000}},
        {"startedDateTime": began, "request": {"url": "ws://a.test/x"}, "response": {},
         "_webSocketMessages": list(said)},
        {"startedDateTime": began, "request": {"url": "http://a.test/late"}, "response": {}, "_afterLoad": True}]
    return {"log": {"pages": [{"startedDateTime": began, "pageTimings": {"onLoad": on_load_ms}}], "entries": asked}}


EARLY, LATE = received("early", time=BEGAN_S + 0.5), received("late", time=BEGAN_S + 1.5)


@pytest.mark.parametrize(("har", "left_out"), [
    (feed(EARLY, LATE), None),                                                  # 4 of 9 characters
    (feed(EARLY, LATE, LATE), LiveLeftOut(8, 13, 1, 3)),
    (feed({**LATE, "type": "send"}), None),
    (feed(arrivals=[[100, 10], [850, 30], [950, 100]]), LiveLeftOut(70, 100, 1, 3)),
    (feed(arrivals=[[100, 10], [850, 90], [950, 100]]), None),
    (feed(LATE, on_load_ms=-1), None),
    (feed(), None),
    (feed(LATE, received("x" * 9, time="soon")), None),         # nonsense
    ({"log": {"entries": 3}}, None), ({}, None), ([], None)])
def test_what_is_left_out_is_told_where_it_is_most(har: Any, left_out: LiveLeftOut | None, tmp_path: Path) -> None:
    (tmp_path / "page.har").write_text(json.dumps(har))
    assert live_left_out(tmp_path / "page.har") == left_out
    assert live_left_out(tmp_path / "none.har") is None
