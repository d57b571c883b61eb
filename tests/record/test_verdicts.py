"""What is said of a recorded page: whether it is fit to be measured, and what a replay will lack.

`verdicts.jsonl` has a visit a line: what was `asked` for, in order, each a URL and how it was answered (`main`: by the
main frame; `shown_after`: the document that is shown was navigated to so many ms before; `open`: without an end;
`answers`: the answer to the request of this number), or the `events` of the net-log; what else the `visit` saw; and
what comes of it: each reason and remark by some words of it, figures of the verdict, what was `posted`, which requests
another document asked for before the page's own.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.files.exchange import Answer, Exchange, Request
from harness.files.pages import sanitise
from harness.record.page import PageRecording, evaluate
from harness.record.sources.brought import NUMBER, Brought
from harness.record.sources.restored import restore
from harness.record.verdict import judge
from harness.record.visit import Visit
from tests.support.made_netlog import ABORTED, PREFETCH, Event, write_made
from tests.support.noted import each_case

PAGE = "http://a.test/"
BEGUN_MS = 1000
"""The tick of the first event; those after it follow 1 ms apart."""


def events_of(url: str, how: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what a net-log tells of a request and its answer; or of the answer to one that was left open."""
    if "answers" not in how:
        yield "REQUEST_ALIVE begin", {}
        yield "URL_REQUEST_START_JOB begin", {
            "url": url, "method": how.get("method", "GET"), "initiator": "http://a.test",
            **({"request_type": "main frame"} if how.get("main") else {}),
            **({"load_flags": PREFETCH} if how.get("ahead") else {})}
        yield "HTTP_TRANSACTION_SEND_REQUEST begin", {}
        yield "HTTP_TRANSACTION_SEND_REQUEST_HEADERS", {
            "line": f"{how.get('method', 'GET')} / HTTP/1.1\r\n", "headers": ["Accept: */*", *how.get("sent", ())]}
        yield "HTTP_TRANSACTION_SEND_REQUEST end", {}
    if "status" in how:
        yield "HTTP_TRANSACTION_READ_HEADERS begin", {}
        yield "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", {
            "headers": [f"HTTP/1.1 {how['status']}", *how.get("headers", ())]}
        yield "HTTP_TRANSACTION_READ_HEADERS end", {}
    if body := how.get("body"):
        yield "HTTP_TRANSACTION_READ_BODY begin", {}
        for part in [body] if isinstance(body, str) else body:
            yield "URL_REQUEST_JOB_FILTERED_BYTES_READ", {"text": part}
        yield "HTTP_TRANSACTION_READ_BODY end", {}
    if not how.get("open"):
        if how.get("cancelled") or how.get("error"):
            yield "CANCELLED", {"net_error": how.get("error", ABORTED)}
        yield "REQUEST_ALIVE end", {}


def seen(tmp_path: Path, case: dict[str, Any]) -> PageRecording:
    """Return PAGE as a recording saw it."""
    events, source, origin = list[Event](), 0, {}
    for url, how in case["asked"]:
        if "shown_after" in how:
            origin = {"time_origin_ms": float(BEGUN_MS + len(events) + how["shown_after"])}
            events += [[BEGUN_MS + len(events) + later, "URL_REQUEST", source, "HTTP_TRANSACTION_READ_HEADERS"]
                       for later in range(how["shown_after"] + 1)]
        for _ in range(how.get("times", 1)):
            source += "answers" not in how
            events += [[tick, "URL_REQUEST", how.get("answers", source), *event]
                       for tick, event in enumerate(events_of(url, how), start=BEGUN_MS + len(events))]
    events += case.get("events", ())
    visit = Visit(**{"start_tick": BEGUN_MS, "end_tick": float(BEGUN_MS + len(events)), "loaded": True, "quiet": True,
                     "document_uri": PAGE, **origin, **case.get("visit", {})})
    return evaluate(PAGE, visit, write_made(events, tmp_path / "netlog.json"))


@each_case("record/verdicts.jsonl")
def test_what_is_said_of_a_page(case: dict[str, Any], tmp_path: Path) -> None:
    recording = seen(tmp_path, case)
    verdict = judge(recording)
    said = "\n".join(verdict.remarks)
    assert [words in reason for words, reason in zip(case["reasons"], verdict.reasons, strict=True)
            ] == [True] * len(case["reasons"])
    assert [words for words in case.get("remarks", ()) if words not in said] == []
    assert [words for words in case.get("silent", ()) if words in said] == []
    found = asdict(verdict) | {
        "before_document": [seen.exchange.before_document for seen in recording.requests],
        "whole": [seen.whole for seen in recording.requests],
        "posted": [seen.exchange.request.body.decode() for seen in recording.requests
                   if seen.exchange.request.method == "POST"],
        "kept": [len(seen.exchange.answer.content or b"") for seen in recording.requests],
        "documents": [seen.url for seen in recording.documents()], "line": verdict.line(PAGE, 0.0)}
    wanted = {name: case[name] for name in found.keys() & case.keys() - {"reasons", "remarks"}}
    assert {name: found[name] for name in wanted} == wanted
    assert ("NOT fit" in verdict.lines(PAGE)[0]) == ("NOT FIT" in found["line"]) == bool(case["reasons"])


def test_a_page_whose_script_asks_for_nothing_any_more_is_not_fit(tmp_path: Path) -> None:
    """No request of its own fails, and yet it is not the page: nine tenths of it were never asked for."""
    page = sanitise(PAGE)
    exchanges = [Exchange(page=page, request=Request("GET", url), answer=Answer(200))
                 for url in (PAGE, *(f"{PAGE}{number}.js" for number in range(19)))]
    recording = seen(tmp_path, {"asked": [
        [PAGE, {"main": True, "status": "200 OK", "headers": [f"{NUMBER}: 1"], "body": "page"}]]})
    restore(recording, Brought("page.har", exchanges, load_ends={page: 1.0}))
    assert judge(recording).reasons == ["it asked for 1 of the 20 URLs that it got when it was recorded"]
