"""What a server answers over HTTP/1, HTTP/2 and HTTP/3, to browsers' own and other clients: ``answers.jsonl``.

A line is a request (`ask`, and `method`, `headers` where they are not a plain GET's; with a content-length so many
zeros are sent) for what secure_replay.py records, and what `comes`: status, headers (a Date of now is "now"), bytes of
the body, the body if it is short. `closes`: over HTTP/1 the connection ends with it, as it did when it was recorded.
`found` is what the server's log says. ``answers_2013.jsonl`` has the same for HTTP/1.0 and a recording of 2013's.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/replay/test_answers.py`` writes what HTTP/1 gets today.
"""

import gzip
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from harness.browser.program import CLOCK_SHIFT_DAYS
from tests.support.noted import WRITES, cases
from tests.support.recording import HOST
from tests.support.replay_process import Running, make_recording, running
from tests.support.secure_replay import speaking_h2

LINES, LINES_2013 = (Path(__file__).with_name(f"{name}.jsonl") for name in ("answers", "answers_2013"))
CASES = cases(LINES)
SECONDS, SHORT = 60, 40
Lines = list[dict[str, Any]]


def asked(case: dict[str, Any]) -> tuple[Any, ...]:
    return case["ask"], case.get("method", "GET"), *(tuple(pair) for pair in case.get("headers", ()))


def plain(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes | bytearray) -> dict[str, Any]:
    """Return an answer as a line has it."""
    told = sorted([name.decode().lower(), now(value.decode()) if name.lower() == b"date" else value.decode()]
                  for name, value in headers if name.lower() not in (b":status", b"connection"))
    shown = gzip.decompress(body) if ["content-encoding", "gzip"] in told else body
    return {"status": status, "headers": told, "bytes": len(body)} | (
        {"body": shown.decode()} if len(shown) <= SHORT else {})


def now(date: str) -> str:
    ahead_s = parsedate_to_datetime(date).timestamp() - time.time() - CLOCK_SHIFT_DAYS * 86_400
    return "now" if -SECONDS < ahead_s <= 1 else date


def compare(server: Running, protocol: str, file: Path, wanted: Lines, found: Lines) -> None:
    """Fail unless what comes, and what the server's log says, is what the lines of a file have."""
    lines = sorted(server.log()[-len(wanted):], key=lambda line: (line.connection, line.request))
    assert [(line.protocol, line.path, line.method) for line in lines] == [
        (protocol, *asked(case)[:2]) for case in wanted]
    assert [(line.status, line.bytes) for line in lines] == [
        (each["comes"]["status"], each["comes"]["bytes"]) for each in found]
    assert all(abs(line.time_s - time.time()) < SECONDS > (line.own_ms or 0) / 1000 >= 0 for line in lines)
    found = [{**case, **each, "found": line.found} for case, each, line in zip(wanted, found, lines, strict=True)]
    if WRITES and protocol.startswith("HTTP/1"):
        file.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in found))
        pytest.skip("written, not compared")
    assert found == wanted


def over_http1(connect: Callable[[], socket.socket], wanted: Lines) -> Lines:
    """Return what comes, over one connection as long as the server keeps it."""
    client, found = http.client.HTTPConnection(HOST), []
    for path, method, *headers in map(asked, wanted):
        client.sock = client.sock or connect()
        client.request(method, path, bytes(int(dict(headers).get("content-length", 0))) or None, dict(headers))
        answer = client.getresponse()
        assert answer.getheader("Connection") == ("close" if answer.will_close else "keep-alive")
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in answer.getheaders()]
        closes = answer.will_close
        found.append({"comes": plain(answer.status, pairs, answer.read()), "closes": closes})
    client.close()
    return found


def test_over_http1(secure: Running) -> None:
    compare(secure, "HTTP/1.1", LINES, CASES, over_http1(lambda: secure.secure("http/1.1"), CASES))


def test_over_http1_as_in_2013(tmp_path: Path) -> None:
    make_recording(tmp_path)
    wanted = cases(LINES_2013)
    with running(tmp_path) as server:
        compare(server, "HTTP/1.0", LINES_2013, wanted, over_http1(server.connect, wanted))


def test_over_http2(secure: Running) -> None:
    with speaking_h2(secure) as client:
        for case in CASES:
            client.get(*asked(case))
    compare(secure, "h2", LINES, CASES, [
        {"comes": plain(answer.status, answer.headers, answer.body)} for answer in client.answers.values()])
    assert client.hints == [(b":status", b"103"), (b"link", b"</s.css>; rel=preload; as=style")]


def test_over_http3(quic: Running) -> None:
    from tests.support.http3_client import ask_over_http3

    wanted = [case for case in CASES if case.get("method") != "HEAD"]    # aioquic's client waits for its body
    visit = ask_over_http3(quic, *map(asked, wanted))
    compare(quic, "h3", LINES, wanted, [
        {"comes": plain(answer.status, answer.headers, answer.body)} for answer in visit.answers])
    assert visit.hints == 1
