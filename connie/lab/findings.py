"""What the times say about the finding of 2013 and about connie's promises, and how sure that is."""

import math
from collections.abc import Callable, Iterator, Sequence

from connie.lab.intervals import interval
from connie.lab.profiles import HOME, WIFI, Profile
from connie.lab.results import ORDER, Results, rank
from connie.lab.timing import FLOOR

CONNIE, CACHED, PLAIN = "connie_connect", "cached_dns_connect", "create_connection"
GAIN_2013 = (5.0, 50.0)
"""Percent by which connects and fetches were faster by racing on home links in 2013."""

TIE_PERCENT = 5.0
"""A difference is called a tie when its whole interval lies within so many percent: less than 2013's least gain."""

CLOSE_MS = 1.0
P99_RATIO = 1.10
STATISTICS: dict[str, Callable[[Results, str, str], list[float]]] = {"connect": Results.connect_ms,
                                                                     "first byte": Results.first_byte_ms}


def finding_lines(profile: Profile, results: Results) -> list[str]:
    """Return the lines below the tables."""
    return [*_gains(profile, results), *_close(results), *_steady(results), *_survival(results)]


def _gains(profile: Profile, results: Results) -> Iterator[str]:
    """Medians of connie against each other strategy's, with nothing dead."""
    for what, times in STATISTICS.items():
        ours = times(results, "none", CONNIE)
        for other in ORDER[1:]:
            theirs = times(results, "none", other)
            pairs = list(zip(ours, theirs, strict=False))
            if len(pairs) < 2:
                continue
            failed = [name for name, of in ((CONNIE, ours), (other, theirs)) if math.isinf(_median(of))]
            if failed:
                yield (f"{what}, all alive: no gain over {other} can be told: the median of {' and '.join(failed)} "
                       "failed")
                continue
            gain = _percent_shorter(_median(ours), _median(theirs))
            low, high = interval(_percent_shorter, 50, *zip(*pairs, strict=True), paired=True)
            line = (f"{what}, all alive: connie_connect's median is {gain:+.1f}% shorter than {other}'s "
                    f"(95%: {_limits(low, high, '+.1f')}, {len(pairs)} pairs)")
            verdict = _verdict(profile, gain, low, high)
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
        ours = results.connect_ms(fault, CONNIE)
        parts = []
        for strategy in results.strategies:
            difference_ms = _ms_longer(_median(results.connect_ms(fault, strategy)), _median(floor))
            parts.append(f"{strategy} {_number(difference_ms, '+.2f')}")
        low, high = interval(_ms_longer, 50, ours, floor)
        yield (f"{fault}: median connect less that of the nearest address alive, alone ({_median(floor):.2f} ms), "
               f"in ms: {', '.join(parts)}; connie 95%: {_limits(low, high, '+.2f')}: "
               f"{_place(low, high, CLOSE_MS)} {CLOSE_MS:g} ms")


def _steady(results: Results) -> Iterator[str]:
    """99th percentiles with one address dead against those with none."""
    if not results.connect_ms("dead", CONNIE):
        return
    parts = []
    for strategy in results.strategies:
        alive, dead = results.connect_ms("none", strategy), results.connect_ms("dead", strategy)
        parts.append(f"{strategy} {_number(_ratio(rank(dead, 99), rank(alive, 99)), '.2f')}")
    low, high = interval(_ratio, 99, results.connect_ms("dead", CONNIE), results.connect_ms("none", CONNIE))
    yield (f"p99 with one address dead / with none dead: {', '.join(parts)}; connie 95%: {_limits(low, high, '.2f')}: "
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


def _percent_shorter(ours: float, theirs: float) -> float:
    return -ours if math.isinf(ours) else 100 * (1 - ours / theirs)


def _ms_longer(ours: float, theirs: float) -> float:
    return ours if math.isinf(ours) else ours - theirs


def _ratio(ours: float, theirs: float) -> float:
    return ours if math.isinf(ours) else ours / theirs


def _limits(low: float, high: float, digits: str) -> str:
    return f"{_number(low, digits)} to {_number(high, digits)}"


def _number(value: float, digits: str) -> str:
    return "failed" if math.isinf(value) else f"{value:{digits}}"
