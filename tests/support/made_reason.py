"""Reasons against loads, made by code."""

from collections.abc import Iterable

from harness.files.reason_kinds import ReasonKind
from harness.measure.reason import Blame, Reason
from harness.measure.rule import Found
from harness.measure.rules import RULES


def accident(text: str, kind: ReasonKind = ReasonKind.OTHER) -> Reason:
    """Return a reason that may not hold in another try."""
    return Reason(kind, Blame.ACCIDENT, text)


def of_the_page(text: str, kind: ReasonKind = ReasonKind.OTHER) -> Reason:
    """Return a reason that will hold in every load of this page."""
    return Reason(kind, Blame.PAGE, text)


def reasons_of(found: Iterable[Found]) -> list[Reason]:
    """Return the reasons that rules make of what a check has found."""
    rules = {rule.kind: rule for rule in RULES}
    return [rules[each.kind].reason(each) for each in found]
