"""What a rule is: when a load does not count, with the threshold, where that comes from, and the words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from harness.files.load_parts import Timekeeping
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind

TRIES = 2
"""So many loads are made before a page is said to be unfit: what it asks for may be chance."""


class Blame(Enum):
    """Who is to blame for a load that does not count."""

    ACCIDENT = "accident"
    """Something happened to this load: the machine, a lost packet, a race. Measured again it may well be valid."""
    PAGE = "page"
    """The recording or the page itself: every further load would meet the same."""


@dataclass(frozen=True)
class Reason:
    """One reason against one load. `text` is what people read, in the terminal, the report and the load's JSON."""

    kind: ReasonKind
    blame: Blame
    text: str


Verdict = list[Reason]
"""All reasons against a load; none if it counts."""
Values = Mapping[str, Any]
"""What a rule's words tell of a load, by name; as "blame" who is to blame, if not whom the rule blames."""
Check = Callable[[LoadRecord], bool | Sequence[Values]]
"""Tells whether a load breaks a rule or, for each time that it does, what the words tell besides the load itself."""
Compare = Callable[[Sequence[LoadRecord], Sequence[bool]], Sequence[Mapping[ReasonKind, Values]]]
Times = Callable[[Timekeeping], Mapping[str, float | None]]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What may be late or lost in ms: `rtt_ratio` of the RTT and `ms`; or `plt_ratio` of the page load time, if that is
    more, but of that no more than `most_ms`.
    """

    ms: float
    rtt_ratio: float = 0.0
    plt_ratio: float = 0.0
    most_ms: float = float("inf")

    def of(self, rtt_ms: float, plt_ms: float) -> float:
        """Return the limit for a load of `plt_ms` at `rtt_ms`."""
        return max(self.rtt_ratio * rtt_ms + self.ms, min(self.plt_ratio * plt_ms, self.most_ms))

    def __str__(self) -> str:
        of_rtt = f"{self.rtt_ratio:.0%} of the RTT + " if self.rtt_ratio else ""
        of_plt = f" and {self.plt_ratio:.0%} of the PLT" if self.plt_ratio else ""
        at_most = "" if self.most_ms == float("inf") else f" (or {self.most_ms:g} ms, if that is less)"
        return f"{of_rtt}{self.ms:g} ms{of_plt}{at_most}"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A row of harness/measure/rules.py.

    `check` looks at one load, `compare` at one page's loads, of which it is told which are good otherwise: it finds for
    each load which rules are broken. What one of the kinds `unless` says better is not said again. `forgives_warm_ups`:
    see harness.measure.rules.together. `measured` says what breaks it, or what is counted or timed against `threshold`;
    `source` says where that comes from. The `words` may name the `load`, and the values that were found.
    """

    kind: ReasonKind
    measured: str
    words: str
    blame: Blame = Blame.ACCIDENT
    threshold: Limit | str = "none"
    source: str = ""
    check: Check | None = None
    compare: Compare | None = None
    unless: frozenset[ReasonKind] = frozenset()
    forgives_warm_ups: bool = False

    def reasons(self, load: LoadRecord, found: bool | Sequence[Values]) -> Verdict:
        """Return the reasons against a load in words."""
        each = ([{}] if found else []) if isinstance(found, bool) else found
        return [Reason(self.kind, values.get("blame", self.blame), self.words.format(load=load, **values))
                for values in each]


def too_long(limit: Limit, measured: Times) -> Check:
    """Return a check of times in ms, by names that the words may tell: none may be over `limit`."""
    return lambda load: [{"name": name, "ms": ms} for name, ms in measured(load.timekeeping).items()
                         if ms and ms > limit.of(load.rtt_ms, load.plt_ms)] \
        if load.timekeeping and load.plt_ms else []


def worth_another_try(reasons: Iterable[Reason]) -> bool:
    """Tell whether a load with these reasons should be measured again: there are some, and all are accidents."""
    return {reason.blame for reason in reasons} == {Blame.ACCIDENT}


def verdict_on_the_page(tries: Iterable[Verdict]) -> Verdict:
    """Return what loads of a page say of it: nothing if one is good, else the first verdict that blames the page.

    If none does, the last one. `tries` gives the verdict on each load; none is made after a good one.
    """
    verdicts: list[Verdict] = []
    for verdict in tries:
        if not verdict:
            return []
        verdicts.append(verdict)
    return next((verdict for verdict in verdicts if not worth_another_try(verdict)), verdicts[-1])


def texts(reasons: Iterable[Reason]) -> list[str]:
    """Return the sentences, as they stand under "why_not" in a load's JSON."""
    return [reason.text for reason in reasons]
