"""Reasons against loads, made by code."""

from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Blame, Reason


def accident(text: str, kind: ReasonKind = ReasonKind.OTHER) -> Reason:
    """Return a reason that may not hold in another try."""
    return Reason(kind, Blame.ACCIDENT, text)


def of_the_page(text: str, kind: ReasonKind = ReasonKind.OTHER) -> Reason:
    """Return a reason that will hold in every load of this page."""
    return Reason(kind, Blame.PAGE, text)
