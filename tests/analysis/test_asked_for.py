"""What a request was for, and by whom it was asked for; causes are found in time in proportion to the page.

test_kinds.jsonl: where the answer's type says something else. A request without a `method` is a GET, without an Accept
it takes anything, and without `by` SITE asked for it.
"""

from dataclasses import replace
from typing import Any

from harness.analysis.asked_for import initiators_of, kind_of
from harness.analysis.causes import dependencies
from harness.analysis.timeline import Timeline
from harness.files.exchange import Answer, Exchange, Request
from harness.files.load_parts import Initiator, ReceivedAnswer, ReceivedAnswers
from tests.support.growth import assert_linear
from tests.support.made_har import PAGE, MadeLoad
from tests.support.noted import each_case

TWO, THERE = "http://two.test/s.js", "http://two.test/i.gif"


def test_a_request_is_known_again_by_the_answer_that_it_got() -> None:
    """Its URL has the time in it, and so has that of the script which asked for it."""
    def record(time: str) -> ReceivedAnswers:
        return ReceivedAnswers(3, 0, 0, 0, tuple(ReceivedAnswer(url, "exact", identity) for url, identity in (
            (PAGE, "1"), (f"{TWO}?{time}#part", "2"), (f"{THERE}?{time}", "3"))))

    told = (Initiator(f"{TWO}?1", "parser", PAGE), Initiator(f"{THERE}?1", "script", f"{TWO}?1"))
    warm_up = replace(MadeLoad(1.0).record(run=0), initiators=told, answers=record("1"))
    here = replace(MadeLoad(1.0).record(), answers=record("2"))
    assert [(each.url, each.by) for each in initiators_of(here, warm_up)] == [
        (f"{TWO}?2", PAGE), (f"{THERE}?2", f"{TWO}?2")]
    assert initiators_of(warm_up, None) == told
    assert initiators_of(here, None) == ()


def page_of(requests: int) -> Timeline:
    load = MadeLoad(2.0 * requests, long_tasks=[(300.0 + 200 * number, 80.0) for number in range(requests // 100)])
    load.add(PAGE, 0, "document", referer="", receive=requests)
    for number in range(requests):
        load.add(f"http://host{number % 40}.test/{number}", 200 + 2 * number,
                 ("script", "image", "data", "style")[number % 4], blocked=number % 30, wait=50 + number % 70)
    return load.timeline()


def test_causes_are_found_in_time_in_proportion_to_the_requests() -> None:
    timelines = {requests: page_of(requests) for requests in (700, 2800)}
    assert_linear(lambda requests: dependencies(timelines[requests]), 700)


SITE = "http://page.test"


@each_case("analysis/test_kinds.jsonl")
def test_a_request_is_what_it_was_made_for(case: dict[str, Any]) -> None:
    headers = {"Accept": "*/*", **case.get("headers", {})}
    assert kind_of(Exchange(request=Request(case.get("method", "GET"), case["url"], tuple(headers.items())),
                            answer=Answer(mime_type=case["type"]), initiator=case.get("by", SITE))) == case["kind"]
