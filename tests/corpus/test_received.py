"""What Chrome asked for and what servers answered, put together: ``received.jsonl``, a load a line.

`asked` are entries of a HAR and `served` requests of the servers' logs, each with what is unusual of it; times in ms
from the load's begin. `got` has for each request the identity of the recorded answer, its kind, its fate, what for, and
what else is unusual; `counts` are those of exact answers, stand-ins, missing, failed, and failed as recorded.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

from harness.files.exchange import UNKNOWN, Answer, Exchange, Phases, Request, fate_of
from harness.files.har import LoadLog, PageTimes
from harness.files.server_log import ServerRequest
from harness.measure.received import received_answers
from tests.support.noted import JsonObject, of_lines

BEGAN = datetime(2026, 11, 22, 1, 0, tzinfo=timezone.utc)
PHASES = Phases(blocked=1, connect=20, send=0, wait=20, receive=1)


def entry(url: str, start_ms: float = 0, *, status: int = 200, method: str = "GET", error: str = "", size: int = 10,
          accept: str = "image/*", connection: str = "7", body: int | None = None, cache: str = "",
          late: bool = False) -> Exchange:
    return Exchange(
        request=Request(method, url, (("Accept", accept),)),
        answer=Answer(status, mime_type="image/gif", content_bytes=size, body_bytes=UNKNOWN if body is None else body),
        started=BEGAN + timedelta(milliseconds=start_ms), phases=PHASES, connection=connection, error=error,
        from_cache=bool(cache), fate=fate_of(url, error, answered=bool(status), late=late))


def served(path: str, at_ms: float = 0.0, **more: Any) -> ServerRequest:
    usual = {"host": "a.test", "connection": 1, "request": 1, "method": "GET", "status": 200, "bytes": 10,
             "found": "plain", "syn_data": False, "answer": "id"}
    return ServerRequest(time_s=BEGAN.timestamp() + at_ms / 1000, path=path, **{**usual, **more})


@of_lines("corpus/received.jsonl")
def test_each_request_gets_what_is_noted_beside_it(case: JsonObject) -> JsonObject:
    critical = case.get("critical", [])
    answers = received_answers(LoadLog(PageTimes(BEGAN), tuple(entry(**asked) for asked in case["asked"])),
                               [served(**request) for request in case["served"]],
                               None if critical is None else frozenset(critical),
                               silent={tuple(place) for place in case.get("silent", ())})
    got = [[answer.identity, answer.kind, answer.fate.name, answer.purpose, *(
        name for name in ("late", "critical", "expected") if getattr(answer, name))] for answer in answers.each]
    counts = [answers.exact, answers.stand_in, answers.missing, answers.failed, answers.failed_as_recorded]
    return {"got": got, "counts": counts, "from_cache": answers.from_cache}
