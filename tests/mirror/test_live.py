"""Live connections in HARs that anybody may have written: what makes no sense is left out, every number is bounded.

`messages.jsonl` has a WebSocket a line: what was `said` over it, and the messages that a replay sends: the pause before
each in ms, opcode, data.
"""

from pathlib import Path
from typing import Any

import pytest

from harness.files.har import log_of
from harness.files.har_entry import from_har
from harness.mirror.live import LONGEST_MS, arrivals_of, read_live
from tests.support.noted import cases

INFINITE = float("inf")
BEGAN, BEGAN_S = "2026-09-21T14:13:20.000+00:00", 1_790_000_000.0


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("messages.jsonl")), ids=lambda case: case["what"])
def test_the_messages_of_a_websocket(case: dict[str, Any]) -> None:
    opened = {"startedDateTime": BEGAN, "time": case.get("time", 100), "request": {"url": "wss://a.test/x"},
              "response": {"status": 101, "headers": []}, "_webSocketMessages": case["said"]}
    found = log_of({"entries": [opened]}, problems=[]).exchanges
    assert [[round(message.after_ms), message.opcode, message.data.decode()]
            for connection in read_live(found, case.get("load_event_s", INFINITE))
            for message in connection.messages] == case["gives"]


IN_TIME = [[0, 3], [150, 9]]
STREAM = {"_arrivals": IN_TIME, "_partial": True}


@pytest.mark.parametrize(("entry", "last_s", "arrivals", "is_cut"), [
    ({"_arrivals": [[900, 5], [-1, 3], [1e300, 4]]}, INFINITE, [[0, 3], [900, 5], [LONGEST_MS, 5]], False),
    ({}, INFINITE, [], False), ({"_arrivals": IN_TIME}, BEGAN_S, IN_TIME, False),       # in pieces, and with an end
    (STREAM, BEGAN_S + 0.3, IN_TIME, False), (STREAM, BEGAN_S + 0.2, IN_TIME[:1], True),
    (STREAM, BEGAN_S + 0.05, [[0, 0]], True)])
def test_arrivals_ascend_are_bounded_and_end_with_the_load_event(
        entry: dict[str, Any], last_s: float, arrivals: list[list[float]], is_cut: bool) -> None:
    whole = {"request": {"url": "http://a.test/"}, "startedDateTime": BEGAN, "timings": {"wait": 100}} | entry
    assert arrivals_of(from_har(whole), last_s) == (tuple(map(tuple, arrivals)), is_cut)


@pytest.mark.parametrize("strange", [[[1]], [1], "x", [["a", 1]], [[1, None]]])
def test_arrivals_that_are_none_make_no_entry(strange: object) -> None:
    with pytest.raises(ValueError):
        from_har({"request": {"url": "http://a.test/"}, "_arrivals": strange})
