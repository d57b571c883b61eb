"""A site that closed the connection after an answer when it was recorded closes it again; others keep theirs.

A line of ``closing.jsonl`` is an answer: version and headers, whether Chrome recorded it, which knows connections, its
status and method where it had no body, and whether the site `closes`.
"""

from http.client import HTTPConnection
from pathlib import Path

from tests.support.noted import cases
from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import running

CASES = cases("replay/closing.jsonl")


def test_who_closes(tmp_path: Path) -> None:
    recorded, asked = MadeRecording(tmp_path), []
    for number, case in enumerate(CASES):
        more = {"version": case["version"], **({"connection": "7"} if case["by_chrome"] else {})}
        pairs, method = tuple((name, value) for name, value in case["headers"]), case.get("method", "GET")
        recorded.add(f"http://{HOST}/{number}", None if "status" in case else b"page", pairs, method=method,
                     status=case.get("status", 200), **more)
        recorded.add(f"http://{HOST}/go/{number}", None, (*pairs, ("Location", "/")), status=302, **more)
        asked += [(case, method, path) for path in (f"/{number}", f"/go/{number}")[:1 if "status" in case else 2]]
    with running(recorded.finish(f"http://{HOST}/0"), "--http", "recorded") as server:
        for case, method, path in asked:
            connection = HTTPConnection(server.address, server.port)
            connection.request(method, path)
            answer = connection.getresponse()
            answer.read()
            assert (answer.will_close, answer.getheader("Connection")) == (
                case["closes"], "close" if case["closes"] else "keep-alive"), (case, path)
            connection.close()
