"""What a server answers over HTTP/1.1, HTTP/2 and HTTP/3, to browsers' own and other clients: ``answers.jsonl``.

A line is a request (`ask`, and `method`, `headers` where they are not a plain GET's) for what secure_replay.py records,
and what `comes`: status, headers (a Date of now is "now"), bytes of the body, the body if it is short. `found` is what
the server's log says.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/replay/test_answers.py`` writes what HTTP/2 gets today.
"""

import gzip
import http.client
import json
import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from harness.browser.program import CLOCK_SHIFT_DAYS
from tests.support.noted import WRITES, cases
from tests.support.recording import HOST
from tests.support.secure_replay import Client, Secure, last

LINES = Path(__file__).with_name("answers.jsonl")
CASES = cases(LINES)
SECONDS, SHORT = 60, 40


def asked(case: dict[str, Any]) -> tuple[Any, ...]:
    return case["ask"], case.get("method", "GET"), *(tuple(pair) for pair in case.get("headers", ()))


def plain(headers: Iterable[tuple[bytes, bytes]], body: bytes | bytearray) -> dict[str, Any]:
    """Return an answer as a line has it."""
    told = [[name.decode().lower(), value.decode()] for name, value in headers if name.lower() != b"connection"]
    status = next(int(value) for name, value in told if name == ":status")
    told = sorted([name, now(value) if name == "date" else value] for name, value in told if name != ":status")
    shown = gzip.decompress(body) if ["content-encoding", "gzip"] in told else body
    return {"status": status, "headers": told, "bytes": len(body)} | (
        {"body": shown.decode()} if len(shown) <= SHORT else {})


def now(date: str) -> str:
    ahead_s = parsedate_to_datetime(date).timestamp() - time.time() - CLOCK_SHIFT_DAYS * 86_400
    return "now" if -SECONDS < ahead_s <= 1 else date


def test_over_http2(secure: Secure) -> None:
    with secure.connect("h2") as connection:
        client = Client(connection)
        for case in CASES:
            client.get(*asked(case))
        found: list[dict[str, Any]] = [{"comes": plain(answer.headers, answer.body)}
                                       for answer in client.answers.values()]
    assert client.hints == [(b":status", b"103"), (b"link", b"</s.css>; rel=preload; as=style")]
    lines = last(secure.server, len(CASES))
    assert [line.request for line in lines] == [*range(1, len(CASES) + 1)]
    assert {(line.protocol, line.scheme, line.connection) for line in lines} == {("h2", "https", lines[0].connection)}
    assert [line.bytes for line in lines] == [each["comes"]["bytes"] for each in found]
    for each, line in zip(found, lines, strict=True):
        each["found"] = line.found
    if WRITES:
        LINES.write_text("".join(json.dumps(case | each) + "\n" for case, each in zip(CASES, found, strict=True)))
        pytest.skip("written, not compared")
    assert [case | each for case, each in zip(CASES, found, strict=True)] == CASES


def test_over_http1(secure: Secure) -> None:
    client = http.client.HTTPConnection(HOST)
    client.sock = secure.connect("http/1.1")
    for case in CASES:
        path, method, *headers = asked(case)
        client.request(method, path, headers=dict(headers))
        answer = client.getresponse()
        body = answer.read()
        pairs = [(b":status", str(answer.status).encode()), *(
            (name.encode(), value.encode()) for name, value in answer.getheaders())]
        assert case["comes"] == plain(pairs, body), case
    client.close()


def test_over_http3(quic: Secure) -> None:
    from tests.support.http3_client import ask_over_http3

    wanted = [case for case in CASES if case.get("method") != "HEAD"]    # aioquic's client waits for its body
    visit = ask_over_http3(quic, *map(asked, wanted))
    assert [plain(answer.headers, answer.body) for answer in visit.answers] == [case["comes"] for case in wanted]
    lines = sorted(last(quic.server, len(wanted)), key=lambda line: line.request)
    assert {(line.protocol, line.connection) for line in lines} == {("h3", lines[0].connection)}
    assert [dict(head)[b":status"] for head in visit.heads].count(b"103") == 1
