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
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from harness.files.exchange import Exchange
from harness.files.moments import moment_at
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.sent import read_sent_bodies
from harness.netlog.silences import server_pieces, silences
from harness.netlog.socket_bytes import Sockets
from harness.netlog.transactions import HttpTransaction
from harness.netlog.websockets import read_websockets
from tests.support.made_netlog import write_made
from tests.support.noted import assert_beside, assert_noted, each_case

NETLOGS = Path(__file__).parent / "netlogs"
CASES = sorted(path.name.partition(".")[0] for path in NETLOGS.glob("*.json.gz"))
LINES = "corpus/netlogs/made.jsonl"
LONG_MS = 100.0


def summary(log: Path) -> dict[str, Any]:
    """Return what is read of a net-log."""
    sockets = Sockets()
    netlog = read_netlog(log, sockets, keep_bodies=True)
    requests = read_sent_bodies(sockets.found.values())
    sent = {(*request, body.connection): body.body for request, several in requests.items() for body in several}
    pieces = server_pieces(netlog)
    start = netlog.transactions[0].start if netlog.transactions else 0
    return {"exchanges": lines(netlog, sent),
            "websockets": [said(websocket) for websocket in read_websockets(sockets.found.values(), moment_at)],
            "pieces": {transaction.url: len(pieces[transaction.source, transaction.hop])
                       for transaction in netlog.transactions if (transaction.source, transaction.hop) in pieces},
            "silences": sum(silence.end_ms - silence.start_ms >= LONG_MS
                            for silence in silences(netlog, start, netlog.end_tick)),
            **({"quic": quic} if (quic := [[each.early, each.sent_again] for each in netlog.connections
                                           if each.quic and each.requests]) else {}),
            "connections": [sum(bool(connection.requests) for connection in netlog.connections),
                            sum(not connection.requests for connection in netlog.connections)],
            "look_ups": [sum(not look_up.error for look_up in netlog.look_ups),
                         sum(bool(look_up.error) for look_up in netlog.look_ups)],
            "left_out": dict(sorted(netlog.left_out.items())), "problems": len(netlog.problems)}


def lines(netlog: NetLog, sent: dict[tuple[str, str, int], bytes]) -> list[dict[str, Any]]:
    """Return the exchanges; JSON has no bytes, so bodies are told apart by the beginning of a hash."""
    order: dict[int, int] = {}
    found = []
    for transaction in netlog.transactions:
        used = transaction.connection.id if transaction.connection else 0
        reused = used in order
        number = order.setdefault(used, len(order) + 1) if used else None
        body = transaction.body.wire
        posted = sent.get((transaction.method, transaction.url, used), b"")
        found.append({
            "method": transaction.method, "url": transaction.url, "status": transaction.status,
            "type": transaction.mime_type, "network_bytes": transaction.body_bytes,
            "decoded_bytes": transaction.content_bytes, "connection": number, "reused": reused,
            "fate": fate(transaction)} | ({"body": digest(body)} if body else {})
            | ({"sent": digest(posted)} if posted else {}))
    return found


def fate(transaction: HttpTransaction) -> str:
    """Return what became of a request."""
    if transaction.error:
        return transaction.error
    if transaction.end is None:
        return "unfinished"
    return "cache" if transaction.from_cache else "redirect" if transaction.redirect_url is not None else ""


def digest(body: bytes) -> str:
    """Return what bodies are told apart by."""
    return hashlib.sha256(body).hexdigest()[:12]


def said(websocket: Exchange) -> dict[str, Any]:
    """Return a WebSocket with how many messages of how many bytes the site and the page said."""
    of = {received: [len(message.data) for message in websocket.answer.messages or () if message.received is received]
          for received in (True, False)}
    return {"url": websocket.request.url, "status": websocket.answer.status, "received": of[True], "sent": of[False]}


def details(netlog: NetLog) -> list[dict[str, Any]]:
    """Return what the exchanges of a made log have beside their lines."""
    return [{"words": each.status_text, "charset": each.charset, "headers": dict(each.response_headers),
             "redirect": each.redirect_url, "ms": [*astuple(each.phases)], "sends": each.sends}
            for each in netlog.transactions]


def made_summary(log: Path) -> dict[str, Any]:
    """Return what is read of a made log, without what is empty."""
    found, sockets = summary(log), Sockets()
    netlog = read_netlog(log, sockets)
    found["exchanges"] = [without_empty(line | more)
                          for line, more in zip(found["exchanges"], details(netlog), strict=True)]
    for line, websocket in zip(found["websockets"], read_websockets(sockets.found.values(), moment_at), strict=True):
        assert websocket.started
        asked = tick_of(websocket.started.timestamp())
        line |= {"ticks": [asked, asked + websocket.phases.wait], "messages": [
            [tick_of(message.time_s), "site" if message.received else "page", message.opcode,
             message.data.decode("latin-1")[:20]] for message in websocket.answer.messages or ()]}
    found["sent"] = {" ".join(asked): [[sent.connection, sent.body.decode("latin-1")] for sent in several]
                     for asked, several in read_sent_bodies(sockets.found.values()).items()}
    return without_empty(found)


def tick_of(time_s: float) -> int:
    """Return the tick of a moment, for which ticks were taken for ms since the epoch."""
    return round(time_s * 1000)


def without_empty(found: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without what says nothing."""
    return {name: value for name, value in found.items() if value not in (None, "", 0, [], {}, [0, 0], False)}


@pytest.mark.parametrize("case", CASES)
def test_a_net_log_is_read_as_its_summary_says(case: str, tmp_path: Path) -> None:
    log = tmp_path / "netlog.json"
    log.write_bytes(gzip.decompress((NETLOGS / f"{case}.json.gz").read_bytes()))
    assert_beside(summary(log), NETLOGS / f"{case}.exchanges.json")


@each_case(LINES)
def test_a_made_log_is_read_as_its_line_says(case: dict[str, Any], tmp_path: Path) -> None:
    assert_noted(made_summary(write_made(case["events"], tmp_path / "netlog.json")), LINES, case)
