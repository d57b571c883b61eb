"""What a rule is: when a load does not count, with the threshold, where that comes from, and the words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from harness.files.load_parts import Timekeeping
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.reason import Blame, Reason


class Section(Enum):
    """What a rule is about, as docs/method.md has it in one table each."""

    CONTENT = "The load is the whole page"
    NETWORK = "Nothing was lost, and TFO did what it should"
    TIME = "Time was kept"


@dataclass(frozen=True)
class Found:
    """A broken rule of this kind: what its words tell, and who is to blame, if not whom the rule blames."""

    kind: ReasonKind
    values: Mapping[str, object] = field(default_factory=dict)
    blame: Blame | None = None


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


Check = Callable[[LoadRecord], Iterable[Found]]
Times = Callable[[Timekeeping], Mapping[str, float | None]]
Compare = Callable[[Sequence[LoadRecord], Sequence[bool]], Sequence[Iterable[Found]]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A row of harness/measure/rules.py.

    `check` looks at one load, `compare` at one page's loads, of which it is told which are good otherwise. Either may
    find rules of several kinds broken: a row takes what is of its own. What one of the kinds `unless` says better is
    not said again. `forgives_warm_ups`: see harness.measure.judge.together. `measured` says what breaks
    it, or what is counted or timed against `threshold`; `source` says where that comes from.
    """

    kind: ReasonKind
    section: Section = Section.CONTENT
    measured: str
    words: str
    blame: Blame = Blame.ACCIDENT
    threshold: Limit | str = "none"
    source: str = ""
    check: Check | None = None
    compare: Compare | None = None
    unless: frozenset[ReasonKind] = frozenset()
    forgives_warm_ups: bool = False

    def reason(self, found: Found) -> Reason:
        """Return the reason in words."""
        return Reason(self.kind, found.blame or self.blame, self.words.format(**found.values))


def too_long(kind: ReasonKind, limit: Limit, measured: Times) -> Check:
    """Return a check of times in ms, by names that the words may tell: none may be over `limit`."""
    def check(load: LoadRecord) -> Iterable[Found]:
        if load.timekeeping and load.plt_ms:
            for name, ms in measured(load.timekeeping).items():
                if (ms or 0.0) > limit.of(load.rtt_ms, load.plt_ms):
                    yield Found(kind, {"name": name, "ms": ms})
    return check
