"""A silence is a time in which a server was asked for something and nothing of it came."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from harness.files.exchange import Phases
from harness.netlog.connections import Connection
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.requests import HttpTransaction
from harness.netlog.silences import Silence, silences

SLOWEST_MS = 100
SETTLED = Path(__file__).parent.parent / "corpus" / "netlogs" / "settled.json.gz"
CONNECTION = Connection(1, "a.test:80", "10.0.0.3:80", 9, 1000, 100.0, received=[1200, 1300, 1310])
REQUEST = HttpTransaction(1, 0, "http://a.test/", 1000, closed=1310, status_line="HTTP/1.0 200 OK", sent_by=[1],
                          connection=1, phases=Phases(0.0, -1.0, 100.0, -1.0, 0.0, 100.0, 110.0))
EVENTS = (("Content-Type", "text/event-stream"),)
CONNECT = (0, 100, True)
USUAL = [CONNECT, (100, 200, False), (200, 300, False), (300, 310, False)]
"""A connect, a wait for an answer, and two pauses in its body: from, to, whether it was asked for a connection."""
HANGING = replace(REQUEST, closed=None, response_headers=(("Content-Length", "999"),))
GIVEN_UP = replace(CONNECTION, id=2, start=1010, connect_ms=None, received=[])
REFUSED = replace(CONNECTION, error=-102, connect_ms=None, received=[])
ROWS = {
    "a connect, a wait and a pause in a body are one silence each": ([CONNECTION], [REQUEST], 2000, USUAL),
    "a server that nobody asks is not silent": (
        [replace(CONNECTION, received=[1200, 1300, 1310, 1900])],
        [REQUEST, replace(REQUEST, start=1850, closed=1900, phases=Phases(0.0, -1.0, -1.0, -1.0, 0.0, 50.0, 0.0))],
        2000, [*USUAL, (850, 900, False)]),
    "a connection that the kernel opens is no answer to a request": (
        [replace(CONNECTION, received=[1390]),
         *(replace(CONNECTION, id=number, start=1000 + 20 * number, received=[]) for number in range(2, 10))],
        [replace(REQUEST, closed=1390)], 2000, [(0, 100, True), (100, 140, True), (100, 390, False),
                                             *((at, at + 20, True) for at in range(140, 280, 20))]),
    "a request that did not fit into the SYN is asked a round trip later": (    # wsj's page at 200 ms, 1446 bytes
        [replace(CONNECTION, connect_ms=0.0, received=[1406])],
        [replace(REQUEST, closed=1406, phases=Phases(5.0, 0.0, 0.0, -1.0, 200.0, 201.0, 0.0))], 2000,
        [(205, 406, False)]),
    "a handshake of TLS waits, too": ([replace(CONNECTION, ssl=(1100, 1250), received=[1250, 1310])], [], 2000,
                                      [CONNECT, (100, 250, False)]),
    "a ClientHello that did not fit into the SYN is asked a round trip later": (
        [replace(CONNECTION, connect_ms=0.0, ssl=(1000, 1410), received=[1400, 1410], sent=[1000, 1200, 1405])], [],
        2000, [(200, 400, False), (400, 410, False)]),
    "what never came is cut at the end": ([CONNECTION], [HANGING], 1700, [*USUAL, (310, 700, False)]),
    "what never had a head is no silence": ([CONNECTION], [REQUEST, replace(HANGING, status_line="")], 1700, USUAL),
    "nor what had none until the end": (
        [CONNECTION], [REQUEST, replace(HANGING, status_line="", closed=1800)], 1700, USUAL),
    "what was refused is none": ([REFUSED], [], 2000, []),
    "a connect that Chrome gave up waits for nobody from then on": (        # Chromium 156 over HTTP/2
        [replace(GIVEN_UP, closed=1034)], [], 2000, [(10, 34, True)]),
    "one that it did not give up waits until the end": ([GIVEN_UP], [], 2000, [(10, 1000, True)]),
    "a stream without an end is silent until more of it comes": (
        [replace(CONNECTION, received=[1200, 1900])], [replace(REQUEST, closed=None)], 2000,
        [CONNECT, (100, 200, False)]),
    "a stream of events is silent until more of it comes": (
        [replace(CONNECTION, received=[1200, 1900])], [replace(REQUEST, closed=1900, response_headers=EVENTS)], 2000,
        [CONNECT, (100, 200, False)]),
    "a request that was never sent waits for no server": (
        [CONNECTION], [replace(REQUEST, sent_by=[], connection=None)], 2000, [CONNECT]),
    "what Chrome does after the last byte is its own time": (
        [CONNECTION], [replace(REQUEST, closed=1700)], 2000, USUAL)}


@pytest.mark.parametrize("what", ROWS)
def test_silences(what: str) -> None:
    connections, requests, until, wanted = ROWS[what]
    netlog = NetLog(transactions=requests, connections=connections)
    assert silences(netlog, 1000, until) == sorted(
        (Silence("10.0.0.3", begin, end, connecting=connecting) for begin, end, connecting in wanted),
        key=lambda silence: (silence.start_ms, silence.connecting))


@pytest.mark.parametrize(("address", "longest_ms"), [("10.0.0.3:80", 10), ("10.0.0.4:80", 100)])
def test_what_queues_behind_another_answer_of_the_same_server_is_not_silence(address: str, longest_ms: int) -> None:
    """The second connect takes 300 ms, behind a body that comes all the time."""
    other = replace(CONNECTION, id=2, address=address, start=1010, connect_ms=300.0, received=[*range(1010, 1320, 4)])
    found = silences(NetLog(transactions=[REQUEST], connections=[CONNECTION, other]), 1000, 2000)
    assert max(silence.end_ms - silence.start_ms for silence in found) == longest_ms


def test_a_log_that_chrome_wrote_tells_when_bytes_came(tmp_path: Path) -> None:
    """On the loopback every answer comes at once: only what its server never answers is silent for long."""
    log = tmp_path / "netlog.json"
    log.write_bytes(gzip.decompress(SETTLED.read_bytes()))
    netlog = read_netlog(log)
    answered = [connection for connection in netlog.connections if connection.requests and connection.connected]
    assert sum(bool(connection.received) for connection in answered) > len(answered) / 2 > 1
    assert all(at >= connection.start for connection in answered for at in connection.received)
    netlog.transactions = [request for request in netlog.transactions if request.status and not request.error]
    assert max(silence.end_ms - silence.start_ms
               for silence in silences(netlog, netlog.transactions[0].start, netlog.end_tick)) < SLOWEST_MS
