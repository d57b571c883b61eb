"""Live connections in HARs that anybody may have written: what makes no sense is left out, every number is bounded.

`messages.jsonl` has a WebSocket a line: what was `said` over it, and the messages that a replay sends: the pause before
each in ms, opcode, data. When answers came in pieces: tests/corpus/texts.jsonl.
"""

from math import inf
from pathlib import Path
from typing import Any

import pytest

from harness.files.har import log_of
from harness.mirror.live import read_live
from tests.support.noted import cases


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("messages.jsonl")), ids=lambda case: case["what"])
def test_the_messages_of_a_websocket(case: dict[str, Any]) -> None:
    opened = {"startedDateTime": "2026-09-21T14:13:20.000+00:00", "time": case.get("time", 100),
              "request": {"url": "wss://a.test/x"}, "response": {"status": 101, "headers": []},
              "_webSocketMessages": case["said"]}
    found = log_of({"entries": [opened]}, problems=[]).exchanges
    assert [[round(message.after_ms), message.opcode, message.data.decode()]
            for connection in read_live(found, case.get("load_event_s", inf))
            for message in connection.messages] == case["gives"]
