"""A silence is a time in which a server was asked for something and nothing of it came."""

import gzip
from dataclasses import replace
from pathlib import Path

from harness.files.exchange import Phases
from harness.files.transactions import HttpTransaction
from harness.netlog.connections import Connection
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.silences import Silence, silences

SLOWEST_MS = 100
SETTLED = Path(__file__).parent.parent / "corpus" / "netlogs" / "settled.json.gz"
CONNECTION = Connection(1, "a.test:80", "10.0.0.3:80", 9, 1000, 100.0, 0, False, [], None,
                        [1200, 1300, 1310])
PHASES = Phases(0.0, -1.0, 100.0, -1.0, 0.0, 100.0, 110.0)
REQUEST = HttpTransaction(
    source=1, hop=0, url="http://a.test/", method="GET", main_frame=True, initiator="", start=1000, end=1310,
    http_version="HTTP/1.0", status=200, status_text="OK", mime_type="text/html", charset="", request_line="",
    request_headers=(), response_headers=(), redirect_url=None, error="", body_bytes=1, content_bytes=1,
    from_cache=False, connection=1, sends=1, phases=PHASES)


CONNECT = Silence("10.0.0.3", 0, 100, connecting=True)


def answer(start_ms: float, end_ms: float) -> Silence:
    """Return a silence in which an answer was waited for."""
    return Silence("10.0.0.3", start_ms, end_ms, connecting=False)


def of(*connections: Connection, requests: tuple[HttpTransaction, ...] = (REQUEST,),
       end: float = 2000) -> list[Silence]:
    return silences(NetLog(transactions=list(requests), connections=list(connections)), 1000, end)


def test_a_connect_a_wait_and_a_pause_in_a_body_are_one_silence_each() -> None:
    assert of(CONNECTION) == [CONNECT, answer(100, 200), answer(200, 300), answer(300, 310)]


def test_a_server_that_nobody_asks_is_not_silent() -> None:
    kept_open = replace(CONNECTION, received=[1200, 1300, 1310, 1900])
    later = replace(REQUEST, start=1850, end=1900, phases=Phases(0.0, -1.0, -1.0, -1.0, 0.0, 50.0, 0.0))
    assert of(kept_open, requests=(REQUEST, later))[-1] == answer(850, 900)
    assert len(of(kept_open, requests=(REQUEST, later))) == 5


def test_what_queues_behind_another_answer_of_the_same_server_is_not_silence() -> None:
    """The second connect takes 300 ms, behind a body that comes all the time."""
    other = replace(CONNECTION, id=2, start=1010, connect_ms=300.0, received=list(range(1010, 1320, 4)))
    assert max(silence.end_ms - silence.start_ms for silence in of(CONNECTION, other)) == 10
    elsewhere = replace(other, address="10.0.0.4:80")
    assert max(silence.end_ms - silence.start_ms for silence in of(CONNECTION, elsewhere)) == 100


def test_a_connection_that_the_kernel_opens_is_no_answer_to_a_request() -> None:
    """A server's program stands still after its first connection: its kernel goes on to answer the others."""
    late = replace(CONNECTION, received=[1390])
    others = [replace(CONNECTION, id=number, start=1000 + 20 * number, received=[]) for number in range(2, 10)]
    assert answer(100, 390) in of(late, *others, requests=(replace(REQUEST, end=1390),))


def test_a_request_that_did_not_fit_into_the_syn_is_asked_a_round_trip_later() -> None:
    """Chrome 156 loading wsj's page at 200 ms: `send` took 200 ms for requests of 1446 bytes and more, 0 for 1396."""
    phases = Phases(5.0, 0.0, 0.0, -1.0, 200.0, 201.0, 0.0)
    long = replace(REQUEST, start=1000, end=1406, phases=phases)
    fast = replace(CONNECTION, connect_ms=0.0, received=[1406])
    assert of(fast, requests=(long,)) == [answer(205, 406)]


def test_a_handshake_of_tls_waits_too() -> None:
    secure = replace(CONNECTION, ssl=(1100, 1250), received=[1250, 1310])
    assert of(secure, requests=()) == [CONNECT, answer(100, 250)]


def test_a_client_hello_that_did_not_fit_into_the_syn_is_asked_a_round_trip_later() -> None:
    secure = replace(CONNECTION, connect_ms=0.0, ssl=(1000, 1410), received=[1400, 1410], sent=[1000, 1200, 1405])
    assert of(secure, requests=()) == [answer(200, 400), answer(400, 410)]


def test_what_never_came_is_cut_at_the_end_and_what_was_refused_is_none() -> None:
    hanging = replace(REQUEST, end=None, response_headers=(("Content-Length", "999"),))
    assert of(CONNECTION, requests=(hanging,), end=1700)[-1] == answer(310, 700)
    for end in (None, 1800):
        assert of(CONNECTION, requests=(REQUEST, replace(hanging, status=0, end=end)), end=1700)[-1] == answer(300, 310)
    refused = replace(CONNECTION, error=-102, connect_ms=None, received=[])
    assert of(refused, requests=()) == []


def test_a_connect_that_chrome_gave_up_waits_for_nobody_from_then_on() -> None:
    """Chromium 156 over HTTP/2: the second connect to a host ended after 24 ms, when the first connection stood. Its
    SYN-ACK was then waited for until the load's end, and the load refused, though nothing was late."""
    given_up = replace(CONNECTION, id=2, start=1010, connect_ms=None, received=[], closed=1034)
    assert of(CONNECTION, given_up) == of(CONNECTION)
    waited_for = replace(given_up, address="10.0.0.4:80", closed=1900)
    assert Silence("10.0.0.4", 10, 900, connecting=True) in of(CONNECTION, waited_for)


def test_a_stream_is_silent_until_more_of_it_comes() -> None:
    for news in (replace(REQUEST, end=None), replace(REQUEST, end=1900, mime_type="text/event-stream")):
        late = replace(CONNECTION, received=[1200, 1900])
        assert of(late, requests=(news,)) == [CONNECT, answer(100, 200)]


def test_a_request_that_was_never_sent_waits_for_no_server() -> None:
    cached = replace(REQUEST, sends=0, connection=None)
    assert of(CONNECTION, requests=(cached,)) == [CONNECT]


def test_what_chrome_does_after_the_last_byte_is_its_own_time() -> None:
    busy = replace(REQUEST, end=1700)
    assert of(CONNECTION, requests=(busy,))[-1] == answer(300, 310)


def test_a_log_that_chrome_wrote_tells_when_bytes_came(tmp_path: Path) -> None:
    """On the loopback every answer comes at once: only what its server never answers is silent for long."""
    log = tmp_path / "netlog.json"
    log.write_bytes(gzip.decompress(SETTLED.read_bytes()))
    netlog = read_netlog(log)
    answered = [connection for connection in netlog.connections if connection.requests and connection.connected]
    assert len(answered) > 3
    assert sum(bool(connection.received) for connection in answered) > len(answered) / 2
    assert all(at >= connection.start for connection in answered for at in connection.received)
    complete = [request for request in netlog.transactions if request.status and not request.error]
    quick = NetLog(transactions=complete, connections=netlog.connections)
    start, end = netlog.transactions[0].start, netlog.end_tick
    assert max(silence.end_ms - silence.start_ms for silence in silences(quick, start, end)) < SLOWEST_MS
