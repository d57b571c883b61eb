"""The table of rules: each kind has one row, and the page prints the table."""

from harness.files.reason_kinds import ReasonKind
from harness.measure.rules import RULES
from harness.measure.rules_table import PAGE, with_tables


def test_each_kind_of_reason_has_one_rule_that_looks_at_a_load_or_compares_loads() -> None:
    assert {rule.kind for rule in RULES} == set(ReasonKind) - {ReasonKind.LABORATORY_ENDED, ReasonKind.OTHER}
    assert len({rule.kind for rule in RULES}) == len(RULES)
    assert all((rule.check is None) != (rule.compare is None) for rule in RULES)


def test_what_a_rule_leaves_to_another_stands_before_it() -> None:
    for place, rule in enumerate(RULES):
        assert rule.unless <= {before.kind for before in RULES[:place]}


def test_the_page_prints_the_table() -> None:
    text = PAGE.read_text()
    assert with_tables(text) == text
    words = " ".join(text.split())
    assert [rule.kind.value for rule in RULES if f"- **{rule.kind.value}** ({rule.blame.value}): " not in words] == []
