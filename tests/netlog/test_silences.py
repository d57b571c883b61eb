"""A silence is a time in which a server was asked for something and nothing of it came: ``silences.jsonl``.

A line says what is special of connections (one that stood after 100 ms, and got bytes at 200, 300 and 310) and requests
(one that is asked on it), `until` when the load lasts (1000 ms), and the silences: from, to, whether a connect waited.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.files.exchange import Phases
from harness.netlog.connections import Connection
from harness.netlog.load import NetLog
from harness.netlog.silences import silences
from harness.netlog.transactions import HttpTransaction

CONNECTION = Connection(1, "10.0.0.3:80", 9, 1000, 100.0, received=[1200, 1300, 1310])
REQUEST = HttpTransaction(1, 0, "http://a.test/", 1000, closed=1310, status_line="HTTP/1.0 200 OK", sent_by=[1],
                          connection=1, phases=Phases(0.0, -1.0, 100.0, -1.0, 0.0, 100.0, 110.0))
CASES = [json.loads(line) for line in (Path(__file__).parent / "silences.jsonl").read_text().splitlines()]


def request(phases: list[float] | None = None, **more: Any) -> HttpTransaction:
    return replace(REQUEST, phases=Phases(*phases) if phases else REQUEST.phases, **more)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_silences(case: dict[str, Any]) -> None:
    connections = [msgspec.convert(asdict(CONNECTION) | each, Connection) for each in case["connections"]]
    netlog = NetLog(transactions=[request(**each) for each in case["requests"]], connections=connections)
    found = silences(netlog, 1000, case.get("until", 2000))
    assert [[each.start_ms, each.end_ms, each.connecting] for each in found] == case["silences"]
    assert {each.server for each in found} <= {"10.0.0.3"}
