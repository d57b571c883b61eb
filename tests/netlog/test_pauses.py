"""Which waits for a body's next bytes its server made, and which the network: ``pauses.jsonl``, a body a line.

Its `size`, the one `wait` of Chrome's (from, to, bytes before it), when how many of its bytes had come, when bytes came
to `others`, and in which `pieces` its server sent it. Times in ms from the head.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.netlog.load import NetLog
from harness.netlog.silences import server_pieces
from harness.netlog.transactions import ResponseBody

CASES = [json.loads(line) for line in (Path(__file__).parent / "pauses.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_what_a_server_waited_for(case: dict[str, Any]) -> None:
    body = ResponseBody(decoded=bytearray(case["size"]), waits=[case["wait"]], arrivals=case["arrivals"])
    connections = [SimpleNamespace(id=number, connect_ms=case["rtt_ms"], received=ticks)
                   for number, ticks in ((1, [tick for tick, _ in body.arrivals]), (2, case["others"]))]
    transaction = SimpleNamespace(source=1, hop=0, connection=1, start=-100, from_cache=False, body=body,
                                  phases=SimpleNamespace(until_head=100.0))
    log = cast(NetLog, SimpleNamespace(connections=connections, transactions=[transaction]))
    assert [[*piece] for piece in server_pieces(log).get((1, 0), ())] == case["pieces"]
