"""What a rule is: what speaks against a load, with the threshold, and where that comes from."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind


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


NO_TOLERANCE = "no tolerance"
"""The threshold of a rule that one case breaks: it needs no source."""
Verdict = list[Reason]
"""All reasons against a load; none if it counts."""
Found = str | tuple[str, Blame]
"""What is said against a load; beside it who is to blame, if not whom the rule blames."""
Check = Callable[[LoadRecord], Iterable[Found]]
"""Looks at one load, and gives what is to be said against it."""


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
    """When a load does not count.

    `measured` says what breaks it, or what is counted or timed against `threshold`; `source` says where that comes
    from. A rule without `check` is one of harness.measure.rules.BESIDE_OTHERS. What one of the kinds `unless` says
    better is not said again.
    """

    kind: ReasonKind
    measured: str
    check: Check | None = None
    blame: Blame = Blame.ACCIDENT
    threshold: Limit | str = NO_TOLERANCE
    source: str = ""
    unless: Collection[ReasonKind] = ()

    def reasons(self, load: LoadRecord) -> Verdict:
        """Return what its check says against a load."""
        found = self.check(load) if self.check else ()
        said = [(each, self.blame) if isinstance(each, str) else each for each in found]
        return [Reason(self.kind, blame, text) for text, blame in said]


def rule(rules: list[Rule], kind: ReasonKind, measured: str, **more: Any) -> Callable[[Check], Check]:
    """Return a decorator that adds a rule with this check to `rules`; `more` are other fields of the rule.

        @rule(NETWORK, ReasonKind.DROPPED_PACKETS, "the delay line dropped a packet")
        def _dropped(load: LoadRecord) -> Iterator[str]:
            if load.delay_line_drops:
                yield f"packets dropped by the delay line: {load.delay_line_drops}"
    """
    def add(check: Check) -> Check:
        rules.append(Rule(kind=kind, measured=measured, check=check, **more))
        return check
    return add


def worth_another_try(reasons: Iterable[Reason]) -> bool:
    """Tell whether a load with these reasons should be measured again: there are some, and all are accidents."""
    return {reason.blame for reason in reasons} == {Blame.ACCIDENT}


def texts(reasons: Iterable[Reason]) -> list[str]:
    """Return the sentences, as they stand under "why_not" in a load's JSON."""
    return [reason.text for reason in reasons]
