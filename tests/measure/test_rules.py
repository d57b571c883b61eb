"""What judges a load: the table of rules, and what the corpora (tests/corpus/test_loads.py) leave open."""

import pytest

from harness.files.reason_kinds import ReasonKind
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure.rule import NO_TOLERANCE
from harness.measure.rules import RULES
from harness.measure.timekeeping import OWN_MS, own_time_ms
from tests.measure.table_of_rules import METHOD, with_rules


def test_each_kind_of_reason_has_a_rule_and_each_threshold_a_source() -> None:
    kinds = [rule.kind for rule in RULES]
    assert sorted(kinds) == sorted(set(ReasonKind) - {ReasonKind.LABORATORY_ENDED, ReasonKind.OTHER})
    for place, rule in enumerate(RULES):
        assert rule.threshold == NO_TOLERANCE or rule.source, rule.kind
        assert set(rule.unless) <= set(kinds[:place]), "what it leaves to another stands before it"


def test_the_page_prints_what_the_program_says() -> None:
    text = METHOD.read_text()
    assert with_rules(text) == text


@pytest.mark.parametrize(("method", "thinks", "late_ms"), [
    ("GET", False, 300 - OWN_MS), ("GET", True, 0), ("POST", False, 0)])
def test_a_server_that_stood_still_before_its_answer_was_late(method: str, thinks: bool, late_ms: float) -> None:
    """Stopped between a request's head and the answer, it had 300 ms as its own time, and the load counted."""
    request = ServerRequest("a.test", 1000.0, 1, 1, method, "/", 200, 1, FoundAs.PLAIN, syn_data=False, own_ms=300.0)
    assert own_time_ms(request, thinks=thinks) == 300 - late_ms
