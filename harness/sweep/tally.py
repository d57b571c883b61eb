"""How many sites of a sweep are done, and how they ended."""

from dataclasses import dataclass, field

from harness.sweep.outcome import UnitOutcome


@dataclass
class Tally:
    """How far the sweep is. `seconds_left` counts the sites that lack a second machine to measure them again."""

    total: int = 0
    done: int = 0
    measured: int = 0
    partly: int = 0
    failed: int = 0
    dismissed: dict[str, str] = field(default_factory=dict)
    seconds_left: int = 0

    @property
    def whole(self) -> bool:
        """Whether every site was measured."""
        return self.measured == self.total

    def add(self, outcome: UnitOutcome) -> None:
        """Count a site that is done."""
        self.done += 1
        self.measured += outcome.status == "measured"
        self.partly += outcome.status == "partly"
        self.failed += outcome.status == "failed"
