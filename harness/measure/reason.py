"""Why a load does not count: a sentence for people, and whether measuring it again can help."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Blame(Enum):
    """Who is to blame for a load that does not count."""

    ACCIDENT = "accident"
    """Something happened to this load: the machine, a lost packet, a race. Measured again it may well be valid."""
    PAGE = "page"
    """The recording or the page itself: every further load would meet the same."""


TRIES = 2
"""So many loads are made before a page is said to be unfit: what it asks for may be chance."""


@dataclass(frozen=True)
class Reason:
    """One reason against one load. `text` is what people read, in the terminal, the report and the load's JSON."""

    text: str
    kind: Blame

    def __str__(self) -> str:
        return self.text


def accident(text: str) -> Reason:
    """Return a reason that may not hold in another try."""
    return Reason(text, Blame.ACCIDENT)


def of_the_page(text: str) -> Reason:
    """Return a reason that will hold in every load of this page."""
    return Reason(text, Blame.PAGE)


def worth_another_try(reasons: Iterable[Reason]) -> bool:
    """Tell whether a load with these reasons should be measured again: there are some, and all are accidents."""
    kinds = {reason.kind for reason in reasons}
    return kinds == {Blame.ACCIDENT}


def verdict_on_the_page(tries: Iterable[Sequence[Reason]]) -> Sequence[Reason]:
    """Return what loads of a page say of it: nothing if one is good, else the first verdict that blames the page.

    If none does, the last one. `tries` gives the verdict on each load; none is made after a good one.
    """
    verdicts: list[Sequence[Reason]] = []
    for verdict in tries:
        if not verdict:
            return []
        verdicts.append(verdict)
    return next((verdict for verdict in verdicts if not worth_another_try(verdict)), verdicts[-1])


def texts(reasons: Iterable[Reason]) -> list[str]:
    """Return the sentences, as they stand under "why_not" in a load's JSON."""
    return [reason.text for reason in reasons]
