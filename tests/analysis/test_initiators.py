"""What Chrome says of run 0 decides what caused what in the other loads, and takes time in proportion to the page."""

from dataclasses import replace

import pytest

from harness.analysis.causes import dependencies
from harness.analysis.initiators import initiators_of
from harness.analysis.timeline import make_timeline
from harness.files.load_parts import Initiator, ReceivedAnswer, ReceivedAnswers
from tests.support.growth import LINEAR, growth
from tests.support.made_har import PAGE, MadeLoad

TWO, OTHER = "http://two.test/s.js", "http://two.test/other.js"
THERE = "http://two.test/i.gif"


def cause_of_the_image(told: Initiator | None, *, asked_after: float = 2.0, long_task: bool = False) -> str:
    """Two scripts of the page end 5 ms after each other, s.js first; `asked_after` ms after s.js comes an image."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="", receive=50)
    load.add(TWO, found, wait=100)
    load.add(OTHER, found, wait=105)
    ended = found + 200
    load.plt_ms = load.add(THERE, ended + asked_after, "image") + 1
    load.long_tasks = [(ended + 1, asked_after - 1)] if long_task else []
    said = [Initiator(PAGE, "other"), Initiator(TWO, "parser", PAGE, 1, 5, blocking=True),
            Initiator(OTHER, "parser", PAGE, 1, 9), *([told] if told else [])]
    timeline = make_timeline(load.log(), load.record(), load.plt_ms, said)
    cause = dependencies(timeline)[3].cause.request
    assert cause is not None
    return cause.url


@pytest.mark.parametrize(("told", "asked_after", "long_task", "expected"), [
    (None, 7, False, OTHER), (Initiator(THERE, "other"), 7, False, OTHER),
    (Initiator(THERE, "script", TWO), 7, False, TWO), (Initiator(THERE, "script", OTHER), 7, False, OTHER),
    (Initiator(THERE, "parser", PAGE, 1, 20), 7, False, TWO),       # for which the parser waits
    (Initiator(THERE, "script", TWO), 60, False, OTHER),            # an event: only time tells which
    (Initiator(THERE, "script", TWO), 60, True, TWO), (Initiator(THERE, "script", "http://no.test/"), 7, False, OTHER)])
def test_chrome_says_who_asked_and_time_only_what_it_waited_for(told: Initiator | None, asked_after: float,
                                                                expected: str, *, long_task: bool) -> None:
    assert cause_of_the_image(told, asked_after=asked_after, long_task=long_task) == expected


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


def page_of(requests: int) -> MadeLoad:
    load = MadeLoad(2.0 * requests)
    load.add(PAGE, 0, "document", referer="", receive=requests)
    for number in range(requests):
        load.add(f"http://host{number % 40}.test/{number}", 200 + 2 * number,
                 ("script", "image", "data", "style")[number % 4], queue=number % 30, wait=50 + number % 70)
    load.long_tasks = [(300.0 + 200 * number, 80.0) for number in range(requests // 100)]
    return load


def test_causes_are_found_in_time_in_proportion_to_the_requests() -> None:
    def work(requests: int) -> None:
        dependencies(timelines[requests])

    loads = {requests: page_of(requests) for requests in (700, 2800)}
    timelines = {requests: make_timeline(load.log(), load.record(), load.plt_ms) for requests, load in loads.items()}
    assert growth(work, 700) < LINEAR
