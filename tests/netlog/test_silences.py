"""When nothing came of a server that was asked (``silences.jsonl``), and which waits it made itself (``pauses.jsonl``).

A line of silences says what is special of connections (one that stood after 100 ms, and got bytes at 200, 300 and 310)
and requests (one that is asked on it), `until` when the load lasts (1000 ms), and the silences: from, to, whether a
connect waited. A line of pauses is a body: its `size`, the one `wait` of Chrome's for its next bytes (from, to, bytes
before it), when how many of its bytes had come, when bytes came to `others`, and in which `pieces` its server sent it.
Times of it in ms from the head.
"""

from dataclasses import asdict, replace
from typing import Any

import msgspec

from harness.files.exchange import Phases
from harness.netlog.connections import Connection
from harness.netlog.load import NetLog
from harness.netlog.silences import server_pieces, silences
from harness.netlog.transactions import HttpTransaction, ResponseBody
from tests.support.noted import each_case

CONNECTION = Connection(1, "10.0.0.3:80", 9, 1000, 100.0, received=[1200, 1300, 1310])
REQUEST = HttpTransaction(1, 0, "http://a.test/", 1000, closed=1310, status_line="HTTP/1.0 200 OK", sent_by=[1],
                          phases=Phases(0.0, -1.0, 100.0, -1.0, 0.0, 100.0, 110.0))


def request(used: Connection, phases: list[float] | None = None, **more: Any) -> HttpTransaction:
    return replace(REQUEST, phases=Phases(*phases) if phases else REQUEST.phases, **({"connection": used} | more))


@each_case("netlog/silences.jsonl")
def test_silences(case: dict[str, Any]) -> None:
    connections = [msgspec.convert(asdict(CONNECTION) | each, Connection) for each in case["connections"]]
    netlog = NetLog(transactions=[request(connections[0], **each) for each in case["requests"]],
                    connections=connections)
    found = silences(netlog, 1000, case.get("until", 2000))
    assert [[each.start_ms, each.end_ms, each.connecting] for each in found] == case["silences"]
    assert {each.server for each in found} <= {"10.0.0.3"}


@each_case("netlog/pauses.jsonl")
def test_what_a_server_waited_for(case: dict[str, Any]) -> None:
    arrivals = case["arrivals"]
    connections = [replace(CONNECTION, id=number, connect_ms=case["rtt_ms"], received=ticks)
                   for number, ticks in ((1, [tick for tick, _ in arrivals]), (2, case["others"]))]
    body = ResponseBody(decoded=bytearray(case["size"]), waits=[case["wait"]], arrivals=arrivals)
    asked = request(connections[0], [100.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0], start=-100, body=body)
    pieces = server_pieces(NetLog(transactions=[asked], connections=connections))
    assert [[*piece] for piece in pieces.get((1, 0), ())] == case["pieces"]
