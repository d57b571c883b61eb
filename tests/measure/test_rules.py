"""The table of rules, and verdicts whatever the numbers. What each rule says of which load: corpus/test_loads.py."""

from hypothesis import given
from hypothesis import strategies as st

from harness.files.reason_kinds import ReasonKind
from harness.measure.reason import verdict_on_the_page
from harness.measure.rules import RULES
from harness.measure.sameness import compared
from harness.measure.tables_in_docs import METHOD, with_rules
from harness.measure.validity import fastopen
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_answers, made_record

NAMES = ("page", "script", "picture", "beacon")


def test_each_kind_of_reason_has_one_rule_that_looks_at_a_load_or_compares_loads() -> None:
    without = {ReasonKind.LABORATORY_ENDED, ReasonKind.OTHER}
    assert {rule.kind for rule in RULES} == set(ReasonKind) - without
    assert len({rule.kind for rule in RULES}) == len(RULES)
    assert all((rule.check is None) != (rule.compare is None) for rule in RULES)


def test_what_a_rule_leaves_to_another_stands_before_it() -> None:
    for place, rule in enumerate(RULES):
        assert rule.unless <= {before.kind for before in RULES[:place]}


def test_the_page_prints_what_the_program_says() -> None:
    text = METHOD.read_text()
    assert with_rules(text) == text


def test_a_page_is_to_blame_if_one_load_says_so_and_none_is_good() -> None:
    lost, hollow = [accident("a packet was lost")], [of_the_page("62 of 68 requests failed")]
    assert verdict_on_the_page([hollow, []]) == []
    assert verdict_on_the_page([lost, []]) == []
    assert verdict_on_the_page([hollow, lost]) == verdict_on_the_page([lost, hollow]) == hollow
    assert verdict_on_the_page([lost, [accident("it was late")]]) == [accident("it was late")]


@given(hundreds=st.integers(1, 50))
def test_exactly_99_percent_is_enough_whatever_the_number(hundreds: int) -> None:
    assert not [*fastopen(made_record(tfo=1, run=1, connections_with_request=100 * hundreds,
                                      syn_data_connections=99 * hundreds))]


@given(st.lists(st.sets(st.sampled_from(NAMES)), max_size=6))
def test_every_load_gets_a_verdict_and_loads_that_got_the_same_are_one_page(lacking: list[set[str]]) -> None:
    urls = [[f"http://a.test/{name}" for name in NAMES if name not in lacks] for lacks in lacking]
    loads = [made_record(plt_ms=1000, answers=made_answers(*each, purpose="script")) for each in urls]
    found = compared(loads, [True] * len(loads))
    assert len(found) == len(loads)
    if all(each == urls[0] for each in urls):
        assert not any(found)
