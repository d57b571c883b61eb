"""harness.netlog.pauses: which of the waits for a body's next bytes its server made, and which the network."""

from types import SimpleNamespace
from typing import cast

import pytest

from harness.netlog.bodies import ResponseBody
from harness.netlog.load import NetLog
from harness.netlog.pauses import Pieces, server_pieces

HEAD = 1000
PIECES = ((0.0, 2000), (300.0, 3000))
"""2 kB with the head, and 1 kB after 300 ms."""


@pytest.mark.parametrize(("rtt_ms", "first", "wait", "others", "pieces"), [
    (0.0, 2000, (0, 300), (), PIECES),
    (100.0, 2000, (0, 300), (), PIECES),
    (100.0, 14_600, (0, 90), (), ()),           # a window is full, and its acknowledgements are on their way
    (100.0, 14_600, (0, 300), (), ((0.0, 14_600), (300.0, 15_600))),
    (200.0, 14_600, (0, 300), (), ()),          # which may be a lost packet
    (0.0, 2000, (0, 49), (), ()),
    (0.0, 2000, (260, 300), (), ()),            # Chrome began to read late
    (0.0, 2000, (0, 300), range(3, 300, 3), ()),        # 4 Mbit/s, full with others' bytes
    (0.0, 2000, (0, 300), (*range(0, 200, 5), 290), PIECES),
    (0.0, 0, (0, 300), (), ((0.0, 0), (300.0, 1000))),  # a head alone
])
def test_what_a_server_waited_for(rtt_ms: float, first: int, wait: tuple[int, int], others: tuple[int, ...],
                                  pieces: Pieces) -> None:
    begin, end = HEAD + wait[0], HEAD + wait[1]
    body = ResponseBody(decoded=bytearray(first + 1000), waits=[(begin, end, first)],
                        arrivals=[(HEAD, first), (end, first + 1000)] if first else [(end, 1000)])
    found = server_pieces(log(rtt_ms, body, [HEAD + tick for tick in others]))
    assert found.get((1, 0), ()) == pieces


def test_a_pause_before_the_end_of_a_body_is_one_before_its_last_byte() -> None:
    body = ResponseBody(decoded=bytearray(10), waits=[(HEAD, HEAD + 80, 10)], arrivals=[(HEAD, 10)])
    assert server_pieces(log(0.0, body, []))[1, 0] == ((0.0, 9), (80.0, 10))


def log(rtt_ms: float, body: ResponseBody, others: list[int]) -> NetLog:
    """Return a log of one answer, whose head was there at HEAD, and its body; `others`: bytes came to another one."""
    ticks = [tick for tick, _ in body.arrivals]
    connections = [SimpleNamespace(id=1, connect_ms=rtt_ms, received=ticks),
                   SimpleNamespace(id=2, connect_ms=rtt_ms, received=others)]
    transaction = SimpleNamespace(source=1, hop=0, connection=1, start=HEAD - 100, from_cache=False, body=body,
                                  phases=SimpleNamespace(until_head=100.0))
    return cast(NetLog, SimpleNamespace(connections=connections, transactions=[transaction]))
