"""Two loads are the same page when they got the same recorded answers, whatever their URLs said."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.load_record import LoadRecord
from harness.measure import sameness
from harness.measure.reason import texts, worth_another_try
from harness.measure.sameness import REST_RATIO
from tests.support.made_reason import reasons_of
from tests.support.made_record import made_record

PAGE = "http://a.test/"
Change = Mapping[str, Mapping[str, Any] | None]


def load_of(change: Change | None = None, pictures: int = 40, more: Change | None = None) -> LoadRecord:
    """Return a load of a page with a document, a frame, a script, a style sheet, a critical picture and many others.

    `change` says by its number or name what of an answer is otherwise, None that it never came.
    """
    parts = {"document": "document", "frame": "document", "script": "script", "style": "style"}
    answers: dict[str, Mapping[str, Any]] = {name: {"purpose": purpose} for name, purpose in parts.items()}
    answers |= {"hero": {"purpose": "image", "critical": True}}
    answers |= {f"{number}": {"purpose": "image"} for number in range(pictures)}
    answers |= {name: known or {} for name, known in (more or {}).items()}
    each = []
    for name, known in answers.items():
        changed = (change or {}).get(name, {})
        if changed is not None:
            each.append({"url": f"{PAGE}{name}?t=1", "kind": "exact", "identity": name, "status": 200, "bytes": 100,
                         "critical": False, **known, **changed})
    counts = {"exact": len(each), "stand_in": 0, "missing": 0, "failed": 0}
    return made_record(plt_ms=1000, answers={**counts, "each": each})


def verdicts(*loads: LoadRecord) -> list[list[str]]:
    """Return the reasons against each, all of them good otherwise."""
    return [texts(reasons_of(found)) for found in sameness.compared(loads, [True] * len(loads))]


USUAL = load_of()


def test_loads_with_the_same_answers_are_the_same_whatever_their_urls_said() -> None:
    otherwise = load_of({f"{number}": {"url": f"{PAGE}{number}?t=999"} for number in range(40)} | {
        "script": {"url": "http://a.test/script?callback=jsonp_17", "kind": "stand-in"}})
    assert verdicts(USUAL, otherwise, USUAL) == [[], [], []]


def test_what_came_from_chromes_cache_came() -> None:
    """A page loaded itself again: what had come before was not sent again, be it six of its pictures or its script."""
    cached = ("script", *(f"{number}" for number in range(6)))
    again = load_of(dict.fromkeys(cached))
    assert again.answers is not None
    again = replace(again, answers=replace(again.answers, from_cache=cached))
    assert verdicts(USUAL, again, USUAL) == [[], [], []]
    assert verdicts(again, USUAL, again) == [[], [], []], "nor are they too many where they were sent"


def test_of_answers_that_differ_in_volatile_values_only_each_stands_for_all() -> None:
    """As wsj's advertiser is asked for one script eight times, of which five were recorded: their order is chance."""
    def turns(*identities: str) -> LoadRecord:
        return load_of(more={f"turn {number}": {"identity": identity, "purpose": "script", "kind": "stand-in",
                                                "url": f"{PAGE}rta.js?rnd=9406594500{number}"}
                             for number, identity in enumerate(identities)})

    assert verdicts(turns("r1", "r2", "r3"), turns("r1", "r2", "r1"), turns("r1", "r3", "r2")) == [[], [], []]
    [_, none, _] = verdicts(turns("r1", "r2", "r3"), turns(), turns("r1", "r3", "r2"))
    assert "3 missing" in none[0]


@pytest.mark.parametrize("kind", ["exact", "missing"])
def test_what_chrome_asks_for_on_its_own_is_not_compared(kind: str) -> None:
    """Whether it does so before the load event is chance, and a small page may differ in one answer only."""
    own: dict[str, dict[str, Any]] = {name: {"url": f"{PAGE}{name}", "kind": kind, "purpose": purpose}
                                      for name, purpose in (("favicon.ico", "image"), ("site.webmanifest", "data"))}
    usual, asked = load_of(pictures=3), load_of(pictures=3, more=own)
    assert verdicts(usual, asked, usual) == verdicts(asked, usual, asked) == [[], [], []]


@pytest.mark.parametrize("name", ["document", "frame", "script", "style", "hero"])
def test_a_part_that_is_missing_makes_another_page(name: str) -> None:
    [usual, poorer, other] = verdicts(USUAL, load_of({name: None}), USUAL)
    assert usual == other == []
    assert poorer == [f"got other answers than the page's other loads: 1 missing, 0 with other status, bytes or error, "
                      f"0 more (no {PAGE}{name}?t=1)"]


@pytest.mark.parametrize(("what", "told"), [
    ({"status": 404, "bytes": 20}, "404 with 20 bytes instead of 200 with 100 bytes"),
    ({"bytes": 200_000}, "200 with 200000 bytes instead of 200 with 100 bytes"),
    ({"status": 0, "bytes": 0, "error": "net::ERR_CONNECTION_REFUSED", "kind": "failed"},
     "ERR_CONNECTION_REFUSED instead of 200 with 100 bytes")])
def test_another_status_size_or_error_of_a_part_makes_another_page(what: dict[str, Any], told: str) -> None:
    assert told in verdicts(USUAL, load_of({"script": what}), USUAL)[1][0]
    assert verdicts(USUAL, load_of({"7": what}), USUAL)[1] == [], "of a picture beside the critical path"


def test_a_server_that_died_makes_another_page() -> None:
    """What it had still to send fails, by address, not by recorded answer: the log never heard of it."""
    refused: dict[str, Any] = {"identity": "", "status": 0, "bytes": 0, "error": "net::ERR_CONNECTION_REFUSED",
                               "kind": "failed"}
    [first, second] = verdicts(USUAL, load_of({"script": refused, "3": refused}))
    assert first == []
    assert "2 missing" in second[0]


def test_of_two_that_differ_the_poorer_is_another_page_and_said_at_once() -> None:
    assert [bool(reasons) for reasons in verdicts(load_of({"style": None}), USUAL)] == [True, False]
    assert [bool(reasons) for reasons in verdicts(USUAL, load_of({"style": None}))] == [False, True]
    assert verdicts(load_of({"style": None})) == [[]], "alone there is nothing to compare it with"


def test_an_answer_that_came_twice_is_critical_if_it_was_once() -> None:
    twice = load_of(more={"poll": {"identity": "poll"}, "again": {"identity": "poll", "critical": True}})
    assert [bool(reasons) for reasons in verdicts(twice, USUAL, twice)] == [False, True, False]


def test_what_one_load_of_many_got_more_is_no_part_of_the_page() -> None:
    richer = load_of(more={"extra": {"purpose": "script"}})
    assert verdicts(USUAL, richer, USUAL) == [[], [], []]


@pytest.mark.parametrize(("change", "differs"), [
    ({"1": None}, False), ({"1": None, "2": None}, False), ({"1": None, "2": None, "3": None}, True),
    ({"1": {"bytes": 7}, "2": None}, False), ({"1": {"bytes": 7}, "2": None, "3": {"status": 404}}, True)])
def test_some_beacons_may_differ(change: Change, differs: bool) -> None:
    """45 answers: 5% are 2.25."""
    assert int(REST_RATIO * 45) == 2
    assert bool(verdicts(USUAL, load_of(change), USUAL)[1]) == differs


def test_one_beacon_may_differ_on_the_smallest_page() -> None:
    small = load_of(pictures=1)
    assert verdicts(small, load_of({"0": None}, pictures=1), small) == [[], [], []]
    assert verdicts(small, load_of({"hero": None}, pictures=1), small)[1]


@pytest.mark.parametrize("change", [
    {"late": True}, {"error": "net::ERR_ABORTED", "status": 0}, {"error": "unfinished", "status": 200},
    {"error": "net::ERR_BLOCKED_BY_ORB", "kind": "stand-in", "bytes": 7}])
def test_what_came_after_the_load_event_or_was_cancelled_does_not_count(change: dict[str, Any]) -> None:
    scripts = {f"late{number}": {"purpose": "script", **change} for number in range(30)}
    assert verdicts(USUAL, load_of(more=scripts), load_of(more=scripts), USUAL) == [[], [], [], []]
    assert verdicts(USUAL, load_of({"script": change}), USUAL) == [[], [], []], "it came, but not in time to matter"


def test_what_some_loads_ask_for_just_before_the_load_event_and_others_just_after_is_the_same() -> None:
    """Amazon's page of 2013 does so with a script."""
    before, after = USUAL, load_of({"script": {"late": True}, "1": {"late": True}, "2": {"late": True}})
    for loads in ([before, after], [after, before], [before, after, after], [after, after, before]):
        assert not any(verdicts(*loads)), loads
    assert verdicts(before, load_of({"script": {"late": True, "status": 404}}), before)[1] == []


def test_a_load_event_that_came_before_much_of_the_page_is_another_pages() -> None:
    """Seen on nytimes' synthetic page: 2.1 s instead of 5.1 s, with 45 of 197 answers after the load event."""
    late = {str(number): {"late": True} for number in range(10)}
    early = replace(load_of(late), plt_ms=400)
    assert "its load event came before 10 of the" in verdicts(USUAL, early, USUAL)[1][0]
    assert verdicts(USUAL, early, USUAL)[::2] == [[], []]
    assert verdicts(USUAL, replace(load_of(dict(list(late.items())[:4])), plt_ms=400), USUAL) == [[], [], []]


def test_a_load_event_in_the_middle_of_many_requests_is_the_same_page() -> None:
    """Seen on wsj's page of 2013: 9 of 83 answers after the load event of a load that took as long as the others."""
    late = load_of({str(number): {"late": True} for number in range(10)})
    assert not any(verdicts(USUAL, replace(late, plt_ms=980), USUAL))
    with_tfo = replace(late, plt_ms=700, tfo=1)
    assert not any(verdicts(USUAL, with_tfo, USUAL)), "with TFO a page is faster"
    assert verdicts(USUAL, with_tfo, replace(USUAL, plt_ms=900, tfo=1), USUAL)[1] != []


def test_a_warm_up_does_not_say_how_long_loads_with_tfo_take() -> None:
    """It begins without cookies: wsj takes 4.4 s at 100 ms then, and 4.0 s with them (docs/data/cookies.tsv)."""
    late = {str(number): {"late": True} for number in range(10)}
    warm_up, first = replace(USUAL, plt_ms=1000, tfo=1, run=0), replace(load_of(late), plt_ms=870, tfo=1)
    assert not any(verdicts(USUAL, warm_up, first))
    assert not any(verdicts(USUAL, warm_up, first, replace(USUAL, plt_ms=880, tfo=1)))
    assert verdicts(USUAL, warm_up, first, replace(USUAL, plt_ms=1000, tfo=1))[2] != []
    assert verdicts(USUAL, replace(load_of(late), plt_ms=400, tfo=1, run=0), replace(USUAL, tfo=1))[1] != []


def test_loads_that_failed_otherwise_do_not_say_what_the_page_is() -> None:
    poor = load_of({"script": None})
    loads = [poor, poor, USUAL, USUAL, poor]
    assert [bool(reasons) for reasons in sameness.compared(loads, [False, False, True, True, True])] == [
        False, False, False, False, True]
    assert sameness.compared(loads, [False] * 5) == [[]] * 5


def test_a_load_of_which_nothing_is_known_differs_from_others() -> None:
    unknown = made_record(plt_ms=1000)
    assert [bool(reasons) for reasons in verdicts(USUAL, unknown)] == [False, True]
    assert verdicts(unknown, unknown) == [[], []]
    assert sameness.compared([USUAL, unknown], [True, False])[1] == [], "its own reason says it better"
    assert sameness.compared([], []) == []


def test_another_try_can_help() -> None:
    assert worth_another_try(reasons_of(sameness.compared([USUAL, load_of({"script": None})], [True, True])[1]))


def test_the_example_is_cut_to_a_readable_length() -> None:
    long = load_of({"script": {"url": f"{PAGE}{'x' * 900}"}})
    assert len(verdicts(long, load_of({"script": None}))[1][0]) < 260


@given(st.lists(st.dictionaries(st.sampled_from(["document", "script", "hero", "1", "2", "3", "4"]), st.none()),
                max_size=6))
def test_every_load_gets_a_verdict_and_one_of_them_is_the_page(changes: list[Change]) -> None:
    found = verdicts(*[load_of(change) for change in changes])
    assert len(found) == len(changes)
    if changes and all(change == changes[0] for change in changes):
        assert not any(found)
