"""What judges a load: the table of rules, and what the corpora (tests/corpus/test_loads.py) leave open."""

import pytest

from harness.files.load_parts import LateAnswer
from harness.files.reason_kinds import ReasonKind
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure.rule import NO_TOLERANCE
from harness.measure.rules import RULES, together
from harness.measure.time_rules import LATE, is_too_late
from harness.measure.timekeeping import OWN_MS, own_time_ms
from tests.measure.table_of_rules import METHOD, with_rules
from tests.support.made_reason import accident
from tests.support.made_record import made_answers, made_record

URL = "http://a.test/"


def test_each_kind_of_reason_has_a_rule_and_each_threshold_a_source() -> None:
    kinds = [rule.kind for rule in RULES]
    assert sorted(kinds) == sorted(set(ReasonKind) - {ReasonKind.LABORATORY_ENDED, ReasonKind.OTHER})
    for place, rule in enumerate(RULES):
        assert rule.threshold == NO_TOLERANCE or rule.source, rule.kind
        assert set(rule.unless) <= set(kinds[:place]), "what it leaves to another stands before it"


def test_the_page_prints_what_the_program_says() -> None:
    text = METHOD.read_text()
    assert with_rules(text) == text


def test_the_thresholds_are_those_of_the_method() -> None:
    assert [LATE.of(*load) for load in ((20, 200), (100, 2000.0), (200, 1000), (200, 60_000))] == [5, 40, 23, 50]


@pytest.mark.parametrize(("rtt_ms", "valid"), [(None, True), (270, True), (1000, True), (10, False)])
def test_an_answer_is_judged_by_its_own_servers_rtt(rtt_ms: float | None, valid: bool) -> None:
    """30 ms late: within 3 ms and a tenth of 300 ms, or of 1000, just that of 270, and more than that of 10."""
    assert is_too_late(LateAnswer("a.test", 0, 30, critical=True, rtt_ms=rtt_ms), 300, 500) != valid


@pytest.mark.parametrize(("method", "thinks", "late_ms"), [
    ("GET", False, 300 - OWN_MS), ("GET", True, 0), ("POST", False, 0)])
def test_a_server_that_stood_still_before_its_answer_was_late(method: str, thinks: bool, late_ms: float) -> None:
    """Stopped between a request's head and the answer, it had 300 ms as its own time, and the load counted."""
    request = ServerRequest("a.test", 1000.0, 1, 1, method, "/", 200, 1, FoundAs.PLAIN, syn_data=False, own_ms=300.0)
    assert own_time_ms(request, thinks=thinks) == 300 - late_ms


def test_a_warm_up_is_held_to_what_the_others_got_until_there_is_a_measured_load() -> None:
    """nytimes' page at 20 ms takes one of two turns; a warm-up that took the other one made the run exit with 1."""
    other, *alike = (made_record(run=run, tfo=tfo, plt_ms=1, answers=made_answers(url, purpose="document"))
                     for run, tfo, url in ((0, 0, "http://other.test/"), (0, 1, URL), (1, 0, URL), (1, 1, URL)))
    assert any(together([other, alike[0]], [[], []]))
    again = [other, other, *alike]
    assert [bool(verdict) for verdict in together(again, [[]] * 5)] == [True, *[False] * 4], "why it was redone"
    lost = accident("a SYN was sent again")
    assert together([other, *alike], [[lost], [], [], []])[0] == [lost]
