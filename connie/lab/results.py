"""What the client measured, sorted by fault and strategy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from connie.lab.task import Cost, Time

FAILED = math.inf
"""In place of the time of a connect that failed: a percentile that left those out would flatter who gives up."""


@dataclass(frozen=True)
class Results:
    """All times and costs of one profile, and those of the part on TCP Fast Open."""

    times: list[Time]
    costs: list[Cost]
    fast_open_times: list[Time]
    fast_open_costs: list[Cost]

    @property
    def cells(self) -> list[tuple[str, str]]:
        """(fault, strategy) of all times, faults and strategies in the order in which they are wanted in a table."""
        return _cells(self.times)

    @property
    def strategies(self) -> list[str]:
        """Those of ORDER that were measured."""
        measured = {time["strategy"] for time in self.times}
        return [strategy for strategy in ORDER if strategy in measured]

    @property
    def fast_open_cells(self) -> list[tuple[str, str]]:
        """The same of the part on TCP Fast Open."""
        return _cells(self.fast_open_times)

    def connect_ms(self, fault: str, strategy: str) -> list[float]:
        """Return the connect times in ms, in the order of the rounds; FAILED for those that failed."""
        return [FAILED if time["connect_ms"] is None else time["connect_ms"] for time in self.times
                if (time["fault"], time["strategy"]) == (fault, strategy)]

    def first_byte_ms(self, fault: str, strategy: str) -> list[float]:
        """Return the times until the first byte of the answer in ms, likewise."""
        return _first_byte_ms(self.times, fault, strategy)

    def fast_open_ms(self, fault: str, strategy: str) -> list[float]:
        """Return the times until the first byte in the part on TCP Fast Open, likewise."""
        return _first_byte_ms(self.fast_open_times, fault, strategy)

    def cost(self, fault: str, strategy: str) -> Cost | None:
        """Return the cost that was measured, or None."""
        return _cost(self.costs, fault, strategy)

    def fast_open_cost(self, fault: str, strategy: str) -> Cost | None:
        """The same in the part on TCP Fast Open."""
        return _cost(self.fast_open_costs, fault, strategy)


def from_client(found: dict[str, Any]) -> Results:
    """Return what the client printed."""
    return Results(found["times"], found["costs"], found["fast_open"]["times"], found["fast_open"]["costs"])


def rank(values: Sequence[float], percent: float) -> float:
    """Return the smallest of `values` that at least `percent` percent of them do not exceed (nearest rank).

    Not interpolated: FAILED stands for no number. Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values, so no percentile")
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _cells(times: Sequence[Time]) -> list[tuple[str, str]]:
    faults = list(dict.fromkeys(time["fault"] for time in times))
    strategies = sorted({time["strategy"] for time in times}, key=_place)
    known = {(time["fault"], time["strategy"]) for time in times}
    return [(fault, strategy) for fault in sorted(faults, key=_fault_place) for strategy in strategies
            if (fault, strategy) in known]


ORDER = ("connie_connect", "cached_dns_connect", "create_connection", "asyncio", "aiohappyeyeballs", "curl")


def _place(strategy: str) -> tuple[int, str]:
    return (ORDER.index(strategy) if strategy in ORDER else len(ORDER)), strategy


def _fault_place(fault: str) -> tuple[int, str]:
    from connie.lab.scenarios import FAULTS

    return list(FAULTS).index(fault.partition(",")[0]), fault


def _first_byte_ms(times: Sequence[Time], fault: str, strategy: str) -> list[float]:
    return [FAILED if time["first_byte_ms"] is None else time["first_byte_ms"] for time in times
            if (time["fault"], time["strategy"]) == (fault, strategy)]


def _cost(costs: Sequence[Cost], fault: str, strategy: str) -> Cost | None:
    return next((cost for cost in costs if (cost["fault"], cost["strategy"]) == (fault, strategy)), None)
