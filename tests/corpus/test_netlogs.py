"""Net-logs of Chrome, each beside what is read in it: tests/corpus/netlogs/.

A case is a log ``NAME.json.gz`` of Chromium 156 and ``NAME.exchanges.json``, its summary:

- `exchanges`: method, URL, status, type, bytes as they crossed the network and decoded, the first digits of the SHA-256
  of the body where the log has it and of what was sent, the connection (numbered in order of appearance), whether an
  earlier request had opened that, and what became of it: "", an error of Chrome's, "cache", "redirect", "unfinished";
- `websockets`: URL, status, and how many messages of how many bytes each side said;
- `pieces`: by URL, in how many pieces a server sent an answer; `silences`: how many there are of 100 ms and more;
- `quic`, where there is some: by connection, whether early data was taken and how many packets were sent again;
- `connections`, those that carried a request and those that did not; `look_ups` that succeeded and failed;
- `left_out`: requests that are not the page's, by reason; `problems`: how many lines are said of what was not read.

The sites and the program that recorded them with all bytes are here no more: commit 66eecd8d has them, record.py and
pages/ (of settled, hanging, killed and idle: c9ef1e52). To record them with a new Chrome, check that out.

- h2_streams: nginx, forty pictures at once, two texts larger than a stream's window, two POSTs, gzip;
- h3_streams: our replay servers, two hosts, twenty pictures, a redirect, a POST, a WebSocket over TCP; twice, the
  second time with early data, since all connections were closed in between;
- redirects: through one URL, which leads elsewhere each time; the page comes by way of one that leads back to it;
- reload: a page that sets a cookie and loads itself again, while its pictures are still on their way;
- video: in ranges, of a player that jumps to its middle, of a script that fetches two, and of one that takes half;
- websocket: a document in two pieces, 300 ms apart, whose script says three things and gets them back;
- settled, hanging, killed: one site whose load settles, hangs, or whose Chrome is killed; with what their server saw.

What no recorded log has is a line of ``made.jsonl``: `what` is special, its `events` (tick, kind and id of the source,
name with "begin" or "end", parameters; `text` stands for bytes in ASCII), and what `is` read in it: the same, without
what is empty, and of each exchange also the words of its status, charset, headers, the ms of its phases (blocked, dns,
connect, ssl, send, wait, receive) and how often it was sent; of a WebSocket its messages.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_netlogs.py`` writes the summaries of today's code;
read the difference before it is committed.
"""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import astuple

from harness.files.exchange import Exchange
from harness.files.moments import moment_at
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.sent import Sent, read_sent_bodies
from harness.netlog.silences import server_pieces, silences
from harness.netlog.socket_bytes import Sockets
from harness.netlog.transactions import HttpTransaction
from harness.netlog.websockets import read_websockets
from tests.support.made_netlog import write_made
from tests.support.noted import JsonObject, assert_beside, of_lines

NETLOGS = Path(__file__).parent / "netlogs"
LONG_MS = 100.0
SentBodies = dict[tuple[str, str], list[Sent]]


def read(log: Path) -> tuple[NetLog, list[Exchange], SentBodies]:
    """Return what is read of a net-log, its WebSockets and what was sent."""
    sockets = Sockets()
    netlog = read_netlog(log, sockets)
    return netlog, [*read_websockets(sockets.found.values(), moment_at)], read_sent_bodies(sockets.found.values())


def summary(netlog: NetLog, websockets: list[Exchange], sent: SentBodies) -> JsonObject:
    """Return what a net-log is noted to have."""
    pieces = server_pieces(netlog)
    start = netlog.transactions[0].start if netlog.transactions else 0
    return {"exchanges": lines(netlog, sent), "websockets": [*map(said, websockets)],
            "pieces": {transaction.url: len(pieces[transaction.source, transaction.hop])
                       for transaction in netlog.transactions if (transaction.source, transaction.hop) in pieces},
            "silences": sum(silence.end_ms - silence.start_ms >= LONG_MS
                            for silence in silences(netlog, start, netlog.end_tick)),
            "quic": [[each.early, each.sent_again] for each in netlog.connections if each.quic and each.requests]
            or None,
            "connections": two_kinds(connection.requests for connection in netlog.connections),
            "look_ups": two_kinds(not look_up.error for look_up in netlog.look_ups),
            "left_out": dict(sorted(netlog.left_out.items())), "problems": len(netlog.problems)}


def two_kinds(found: Iterable[object]) -> list[int]:
    """Return how many are so, and how many are not."""
    counts = Counter(map(bool, found))
    return [counts[True], counts[False]]


def lines(netlog: NetLog, sent: SentBodies) -> list[JsonObject]:
    """Return the exchanges; JSON has no bytes, so bodies are told apart by the beginning of a hash."""
    bodies = {(*request, body.connection): body.body for request, several in sent.items() for body in several}
    order: dict[int, int] = {}
    found = []
    for transaction in netlog.transactions:
        used = transaction.connection.id if transaction.connection else 0
        reused = used in order
        number = order.setdefault(used, len(order) + 1) if used else None
        hashes = {"body": transaction.body.wire, "sent": bodies.get((transaction.method, transaction.url, used))}
        found.append({
            "method": transaction.method, "url": transaction.url, "status": transaction.status,
            "type": transaction.mime_type, "network_bytes": transaction.body_bytes,
            "decoded_bytes": transaction.content_bytes, "connection": number, "reused": reused,
            "fate": fate(transaction)}
            | {name: hashlib.sha256(body).hexdigest()[:12] for name, body in hashes.items() if body})
    return found


def fate(transaction: HttpTransaction) -> str:
    """Return what became of a request."""
    if transaction.error:
        return transaction.error
    if transaction.end is None:
        return "unfinished"
    return "cache" if transaction.from_cache else "redirect" if transaction.redirect_url is not None else ""


def said(websocket: Exchange) -> JsonObject:
    """Return a WebSocket with how many messages of how many bytes the site and the page said."""
    of = {received: [len(message.data) for message in websocket.answer.messages or () if message.received is received]
          for received in (True, False)}
    return {"url": websocket.request.url, "status": websocket.answer.status, "received": of[True], "sent": of[False]}


def made_summary(netlog: NetLog, websockets: list[Exchange], sent: SentBodies) -> JsonObject:
    """Return what a made log is noted to have: more of each request and message, and not what is empty."""
    found = summary(netlog, websockets, sent)
    found["exchanges"] = [without_empty(line | {
        "words": each.status_text, "charset": each.charset, "headers": dict(each.response_headers),
        "redirect": each.redirect_url, "ms": [*astuple(each.phases)], "sends": each.sends})
        for line, each in zip(found["exchanges"], netlog.transactions, strict=True)]
    for line, websocket in zip(found["websockets"], websockets, strict=True):
        assert websocket.started
        asked = tick_of(websocket.started.timestamp())
        line |= {"ticks": [asked, asked + websocket.phases.wait], "messages": [
            [tick_of(message.time_s), "site" if message.received else "page", message.opcode,
             message.data.decode("latin-1")[:20]] for message in websocket.answer.messages or ()]}
    found["sent"] = {" ".join(asked): [[body.connection, body.body.decode("latin-1")] for body in several]
                     for asked, several in sent.items()}
    return without_empty(found)


def tick_of(time_s: float) -> int:
    """Return the tick of a moment, for which ticks were taken for ms since the epoch."""
    return round(time_s * 1000)


def without_empty(found: JsonObject) -> JsonObject:
    """Return a summary without what says nothing."""
    return {name: value for name, value in found.items() if value not in (None, "", 0, [], {}, [0, 0], False)}


@pytest.mark.parametrize("log", sorted(NETLOGS.glob("*.json.gz")), ids=lambda path: path.name.partition(".")[0])
def test_a_net_log_is_read_as_its_summary_says(log: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "netlog.json"
    unpacked.write_bytes(gzip.decompress(log.read_bytes()))
    assert_beside(summary(*read(unpacked)), log.with_name(log.name.replace("json.gz", "exchanges.json")))


@of_lines("corpus/netlogs/made.jsonl")
def test_a_made_log_is_read_as_its_line_says(case: JsonObject, tmp_path: Path) -> JsonObject:
    return {"is": made_summary(*read(write_made(case["events"], tmp_path / "netlog.json")))}
