"""Why a load does not count: the rule's kind, who is to blame, and a sentence for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from harness.files.reason_kinds import ReasonKind


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

    kind: ReasonKind
    blame: Blame
    text: str

    def __str__(self) -> str:
        return self.text


def worth_another_try(reasons: Iterable[Reason]) -> bool:
    """Tell whether a load with these reasons should be measured again: there are some, and all are accidents."""
    return {reason.blame for reason in reasons} == {Blame.ACCIDENT}


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
