"""What the times say about the finding of 2013 and about connie's promises, and how sure that is."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from connie.lab.profiles import HOME, WIFI, Profile
from connie.lab.results import ORDER, Results, rank
from connie.lab.timing import FLOOR
from harness.analysis.intervals import RESAMPLES, improvement_interval

CONNIE, CACHED, PLAIN = "connie_connect", "cached_dns_connect", "create_connection"
GAIN_2013 = (5.0, 50.0)
"""Percent by which connects and fetches were faster by racing on home links in 2013."""

TIE_PERCENT = 5.0
"""A difference is called a tie when its whole interval lies within so many percent: less than 2013's least gain."""

CLOSE_MS = 1.0
P99_RATIO = 1.10
STATISTICS: dict[str, Callable[[Results, str, str], list[float]]] = {"connect": Results.connect_ms,
                                                                     "first byte": Results.first_byte_ms}
Array = npt.NDArray[np.float64]


def finding_lines(profile: Profile, results: Results) -> list[str]:
    """Return the lines below the tables."""
    return [*_gains(profile, results), *_close(results), *_steady(results), *_survival(results)]


def _gains(profile: Profile, results: Results) -> Iterator[str]:
    """Medians of connie against each other strategy's, with nothing dead."""
    for what, times in STATISTICS.items():
        ours = times(results, "none", CONNIE)
        for other in ORDER[1:]:
            theirs = times(results, "none", other)
            pairs = [(theirs_ms, ours_ms) for theirs_ms, ours_ms in zip(theirs, ours, strict=False)
                     if math.isfinite(theirs_ms + ours_ms)]
            interval = improvement_interval([a for a, _ in pairs], [b for _, b in pairs])
            if interval is None:
                continue
            gain = 100 * (1 - _median(ours) / _median(theirs))
            line = (f"{what}, all alive: connie_connect's median is {gain:+.1f}% shorter than {other}'s "
                    f"(95%: {interval.low_percent:+.1f} to {interval.high_percent:+.1f}, {interval.pairs} pairs)")
            verdict = _verdict(profile, gain, interval.low_percent, interval.high_percent)
            judged = {PLAIN: f": {verdict}", CACHED: f": the race alone, names remembered by both: {verdict}"}
            yield line + judged.get(other, "")


def _verdict(profile: Profile, gain: float, low: float, high: float) -> str:
    if profile in (WIFI, HOME):
        if low <= 0:
            return "2013's 5 to 50% NOT reproduced"
        inside = GAIN_2013[0] <= gain <= GAIN_2013[1]
        return f"2013's 5 to 50% {'reproduced' if inside else 'not met, but shorter'}"
    if low >= -TIE_PERCENT and high <= TIE_PERCENT:
        return "2013's tie in data centres reproduced"
    return f"2013's tie in data centres NOT reproduced (the interval leaves +-{TIE_PERCENT:g}%)"


def _close(results: Results) -> Iterator[str]:
    """How far every strategy's median lies above a plain connect to the nearest address that is alive."""
    for fault in ("none", "dead", "dead-fastest", "refuse", "dead-v6"):
        floor = results.connect_ms(fault, FLOOR)
        if not floor or not results.connect_ms(fault, CONNIE):
            continue
        parts = []
        for strategy in results.strategies:
            difference_ms = _median(results.connect_ms(fault, strategy)) - _median(floor)
            parts.append(f"{strategy} {difference_ms:+.2f}" if math.isfinite(difference_ms) else f"{strategy} failed")
        ours = _finite(results.connect_ms(fault, CONNIE))
        low, high = _bootstrap((ours, _finite(floor)), lambda a, b, axis: np.median(a, axis) - np.median(b, axis))
        yield (f"{fault}: median connect less that of the nearest address alive, alone ({_median(floor):.2f} ms), "
               f"in ms: {', '.join(parts)}; connie 95%: {low:+.2f} to {high:+.2f}: "
               f"{_place(low, high, CLOSE_MS)} {CLOSE_MS:g} ms")


def _steady(results: Results) -> Iterator[str]:
    """99th percentiles with one address dead against those with none."""
    if not results.connect_ms("dead", CONNIE):
        return
    parts = []
    for strategy in results.strategies:
        alive, dead = results.connect_ms("none", strategy), results.connect_ms("dead", strategy)
        ratio = rank(dead, 99) / rank(alive, 99)
        parts.append(f"{strategy} {'failed' if math.isinf(ratio) else f'{ratio:.2f}'}")
    ours = _finite(results.connect_ms("dead", CONNIE)), _finite(results.connect_ms("none", CONNIE))
    low, high = _bootstrap(ours, lambda a, b, axis: np.percentile(a, 99, axis) / np.percentile(b, 99, axis))
    yield (f"p99 with one address dead / with none dead: {', '.join(parts)}; connie 95%: {low:.2f} to {high:.2f}: "
           f"{_place(low, high, P99_RATIO)} 10%")


def _survival(results: Results) -> Iterator[str]:
    """With every fault but total death: how many connects failed or took over a second."""
    for fault in ("dead", "dead-fastest", "refuse", "dead-v6"):
        counts = {strategy: results.connect_ms(fault, strategy) for strategy in results.strategies}
        parts = [f"{strategy} {sum(time_ms > 1000 for time_ms in times)} of {len(times)}"
                 for strategy, times in counts.items() if times]
        if parts:
            yield f"{fault}: connects that failed or took over 1 s: {', '.join(parts)}"


def _place(low: float, high: float, limit: float) -> str:
    """Return on which side of a limit an interval lies."""
    return "within" if high <= limit else ("beyond" if low > limit else "within or beyond")


def _median(values: Sequence[float]) -> float:
    return rank(values, 50)


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _bootstrap(samples: tuple[list[float], list[float]], statistic: Callable[..., Any]) -> tuple[float, float]:
    """Return the 95% percentile-bootstrap interval of a statistic of two independent samples; NaN for too few
    values."""
    from scipy import stats  # half a second to import

    if min(map(len, samples)) < 2:
        return math.nan, math.nan
    found = stats.bootstrap(tuple(np.asarray(sample, float) for sample in samples), statistic, vectorized=True,
                            n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(1))
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
