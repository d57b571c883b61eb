"""Rounds of calls, and the line that tells how long those of one strategy took."""

import math
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Call = Callable[[str], float]
"""Does what is measured with the host of that name; returns the seconds it took. Raises OSError when it fails."""


@dataclass
class CallTimes:
    """The calls of one strategy: seconds of those that succeeded, in their order, and what the others failed with."""

    times_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run_rounds(calls: Mapping[str, Call], hosts: Sequence[str], rounds: int, seed: int = 1) -> dict[str, CallTimes]:
    """Call everything in `calls` once in each of so many rounds; return what came of it, by the same names.

    The order is drawn anew for each round, so that none profits from its place; the same `seed` gives the same order.
    The hosts take turns: round i is for hosts[i % len(hosts)].
    """
    order, draw = list(calls), random.Random(seed)
    found = {name: CallTimes() for name in calls}
    for number in range(rounds):
        host = hosts[number % len(hosts)]
        draw.shuffle(order)
        for name in order:
            _add_call(found[name], calls[name], host)
        if sys.stderr.isatty():
            end = "" if number + 1 < rounds else "\r\x1b[K"
            print(f"\rround {number + 1} of {rounds}", end=end, file=sys.stderr, flush=True)
    return found


def _add_call(series: CallTimes, call: Call, host: str) -> None:
    try:
        series.times_s.append(call(host))
    except (OSError, UnicodeError) as error:                # UnicodeError: a name that cannot be one
        series.errors.append(f"{host}: {error}")


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest of `values` that at least `percent` percent of them do not exceed (nearest rank).

    It is one of the values, so infinite ones, for calls that failed, may be among them.
    """
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def format_line(name: str, series: CallTimes) -> str:
    """Return the line of 2013 with what it lacked behind it. All times in seconds.

        connie_connect: count 300, total 18.6567, per call: 0.0622, std dev: 0.0030, median: 0.061812, ...

    2013's figures are about the calls that succeeded. Median and percentiles are of all calls, failed ones counted as
    slower than all others, or who gives up would look quick: `failed` stands for one that lies among these. The
    deviation is that of a sample, sqrt(sum((x - mean)**2) / (n - 1)); the tool of 2013 divided by n outside the root,
    and so printed a value that is sqrt(n) times too small. What 2013 had has 2013's four decimals, the rest six: on
    loopback a connect takes some 0.00005 s. `-` stands for what so few calls do not tell.
    """
    times_s = series.times_s
    mean = statistics.fmean(times_s) if times_s else None
    deviation = statistics.stdev(times_s) if len(times_s) > 1 else None
    all_s = [*times_s, *[math.inf] * len(series.errors)]
    middle, p95, p99 = (_seconds(percentile(all_s, percent) if times_s else None, 6) for percent in (50, 95, 99))
    return (f"{name}: count {len(times_s)}, total {sum(times_s):.4f}, per call: {_seconds(mean)}, "
            f"std dev: {_seconds(deviation)}, median: {middle}, p95: {p95}, p99: {p99}, errors: {len(series.errors)}")


def _seconds(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "-"
    return "failed" if math.isinf(value) else f"{value:.{digits}f}"
