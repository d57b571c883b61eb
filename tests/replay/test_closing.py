"""A site that closed the connection after an answer when it was recorded closes it again; others keep theirs.

A line of ``closing.jsonl`` is an answer: version and headers, whether Chrome recorded it, which knows connections, its
status and method where it had no body, and whether the site `closes`.
"""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import Running, running

CASES = [json.loads(line) for line in (Path(__file__).parent / "closing.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    recorded = MadeRecording(tmp_path_factory.mktemp("closing"))
    for number, case in enumerate(CASES):
        more: dict[str, Any] = {"version": case["version"], **({"connection": "7"} if case["by_chrome"] else {})}
        pairs = tuple((name, value) for name, value in case["headers"])
        without_body = {"status": case.get("status", 200), "method": case.get("method", "GET")}
        recorded.add(f"http://{HOST}/{number}", None if "status" in case else b"page", pairs, **without_body, **more)
        recorded.add(f"http://{HOST}/go/{number}", None, (*pairs, ("Location", "/")), status=302, **more)
    with running(recorded.finish(f"http://{HOST}/0"), "--http", "recorded") as server:
        yield server


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: json.dumps(CASES[number]))
def test_who_closes(server: Running, number: int) -> None:
    case = CASES[number]
    for path in [f"/{number}"] if "status" in case else [f"/{number}", f"/go/{number}"]:
        connection, closes = HTTPConnection(server.address, server.port), case["closes"]
        connection.request(case.get("method", "GET"), path)
        answer = connection.getresponse()
        answer.read()
        assert (answer.will_close, answer.getheader("Connection")) == (closes, "close" if closes else "keep-alive")
        connection.close()
