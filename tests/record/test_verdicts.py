"""What is said of a recorded page: whether it is fit to be measured, and what a replay will lack.

`verdicts.jsonl` has a visit a line: what was `asked` for, in order, each a URL and how it was answered (`main`: by the
main frame; `shown_after`: the document that is shown was navigated to so many ms before; `open`: without an end;
`answers`: the answer to the request of this number), or the `events` of the net-log; what else the `visit` saw; and
what comes of it: each reason and remark by some words of it, figures of the verdict, what was `posted`, which requests
another document asked for before the page's own.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.files.exchange import Answer, Exchange, Request
from harness.files.pages import sanitise
from harness.record.sources.brought import NUMBER, Brought
from harness.record.sources.restored import restore
from harness.record.verdict import judge
from tests.support.made_netlog import PAGE, PREFETCH, MadeNetLog, seen
from tests.support.noted import each_case


def ask(log: MadeNetLog, url: str, how: dict[str, Any]) -> None:
    """Have a request, and its answer; or the answer to one that was left open."""
    last = log.source
    if "answers" in how:
        log.source = how["answers"]
    else:
        log.begin(url, how.get("method", "GET"), how.get("main", False), sent=how.get("sent", ()))
    if how.get("ahead"):
        begun = next(params for *_, params in reversed(log.events) if "url" in params)
        begun["load_flags"] = PREFETCH
    if "status" in how:
        log.head(how["status"], *how.get("headers", ()))
    if body := how.get("body"):
        log.body(*(part.encode() for part in ([body] if isinstance(body, str) else body)))
    if not how.get("open"):
        log.end(how.get("cancelled", False), how.get("error", 0))
    log.source = max(last, log.source)


@each_case("record/verdicts.jsonl")
def test_what_is_said_of_a_page(case: dict[str, Any], tmp_path: Path) -> None:
    log, visit = MadeNetLog(), dict(case.get("visit", {}))
    for url, how in case["asked"]:
        if "shown_after" in how:
            visit["time_origin_ms"] = 1000.0 + len(log.events) + how["shown_after"]
            for _ in range(how["shown_after"] + 1):         # events stand 1 ms apart
                log.add("HTTP_TRANSACTION_READ_HEADERS")
        for _ in range(how.get("times", 1)):
            ask(log, url, how)
    log.events += case.get("events", ())
    recording = seen(log, tmp_path, **visit)
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
        "documents": [seen.url for seen in recording.documents()], "line": verdict.line(PAGE, 0.0),
        "urls": [seen.url for seen in recording.requests]}
    wanted = {name: case[name] for name in found.keys() & case.keys() - {"reasons", "remarks"}}
    assert {name: found[name] for name in wanted} == wanted
    assert [words in line for words, line in (("NOT fit", verdict.lines(PAGE)[0]), ("NOT FIT", verdict.line(PAGE, 0.0)))
            ] == [not verdict.fit] * 2


def test_a_page_whose_script_asks_for_nothing_any_more_is_not_fit(tmp_path: Path) -> None:
    """No request of its own fails, and yet it is not the page: nine tenths of it were never asked for."""
    page, log = sanitise(PAGE), MadeNetLog()
    log.request(PAGE, b"page", f"{NUMBER}: 1", main_frame=True)
    exchanges = [Exchange(page=page, request=Request("GET", url), answer=Answer(200))
                 for url in (PAGE, *(f"{PAGE}{number}.js" for number in range(19)))]
    recording = seen(log, tmp_path)
    restore(recording, Brought("page.har", exchanges, load_ends={page: 1.0}))
    assert judge(recording).reasons == ["it asked for 1 of the 20 URLs that it got when it was recorded"]
