"""What star.py prints and draws of its results."""

import math
from collections.abc import Sequence
from statistics import median

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from connie.bench.strategies import RACE_TFO, percentile
from connie.lab.task import FAULTS, FLOOR, Profile, Results, Time
from harness.analysis.stats import improvement_interval

CONNIE = "connie_connect"
STYLES = {"connie_connect": ("#d55e00", "-"), "connie_connect, TFO": ("#d55e00", "--"),
          "cached_dns_connect": ("#e69f00", "--"), "create_connection": ("#000000", "-"), "asyncio": ("#0072b2", "-"),
          "anyio": ("#56b4e9", "-."), "trio": ("#cc79a7", "-."),
          "curl": ("#009e73", ":"), "go": ("#009e73", "--"), FLOOR: ("#999999", ":")}
"""Colour and line by strategy, in the order of tables. Okabe and Ito's colours for any colour vision."""

TIME_HEADER = ("fault", "strategy", "n", "failed", "connect ms: median", "p95", "p99", "first byte ms: median")
COST_HEADER = ("fault", "strategy", "n", "sockets", "bytes sent", "aborted at servers", "requests in a SYN", "CPU ms")


def values_ms(times: Sequence[Time], fault: str, strategy: str, what: str = "connect_ms") -> list[float]:
    """Return the times in ms of one strategy with one fault, infinite where a connect failed.

    A percentile that left these out would flatter who gives up.
    """
    return [math.inf if (value := getattr(time, what)) is None else value for time in times
            if (time.fault, time.strategy) == (fault, strategy)]


def time_rows(results: Results) -> list[tuple[str, ...]]:
    """Return how long connects took. A percentile that lies among failed connects is `failed`."""
    rows = []
    for fault in FAULTS:
        for strategy in STYLES:
            if connect_ms := values_ms(results.times, fault, strategy):
                figures = [*(percentile(connect_ms, percent) for percent in (50, 95, 99)),
                           percentile(values_ms(results.times, fault, strategy, "first_byte_ms"), 50)]
                rows.append((fault, strategy, str(len(connect_ms)), str(connect_ms.count(math.inf)),
                             *("failed" if math.isinf(figure) else f"{figure:.1f}" for figure in figures)))
    return rows


def cost_rows(results: Results) -> list[tuple[str, ...]]:
    """Return what one connect cost, on average of n."""
    return [(cost.fault, cost.strategy, str(cost.connects), f"{cost.sockets:.1f}", f"{cost.sent_bytes:.0f}",
             f"{cost.aborted:.1f}", f"{cost.fast_open:.1f}", f"{cost.cpu_ms:.2f}") for cost in results.costs]


def finding_lines(results: Results) -> list[str]:
    """Return for each fault how much shorter connie_connect's median is than each other's, over pairs of one round.

    Only where no connect failed: with one that did there is no number.
    """
    lines = []
    for fault in FAULTS:
        ours = values_ms(results.times, fault, CONNIE)
        for other in STYLES:
            pairs = [*zip(ours, values_ms(results.times, fault, other), strict=False)]
            if other in (CONNIE, *RACE_TFO) or len(pairs) < 2 or any(map(math.isinf, sum(pairs, ()))):
                continue
            our_ms, their_ms = zip(*pairs, strict=True)
            gain_percent = 100 * (1 - median(our_ms) / median(their_ms))
            interval = improvement_interval(their_ms, our_ms)
            assert interval is not None
            lines.append(f"{fault}: connie_connect's median connect is {gain_percent:+.1f}% shorter than {other}'s "
                         f"(95%: {interval.low_percent:+.1f} to {interval.high_percent:+.1f}, {len(pairs)} pairs)")
    return lines


def draw(profile: Profile, results: Results) -> Figure:
    """Draw how many connects were done after how long (an ECDF), a panel for each fault that was measured."""
    faults = [fault for fault in FAULTS if any(time.fault == fault for time in results.times)]
    figure = Figure(figsize=(7, 1.2 + 3.2 * len(faults)), layout="constrained")
    panels = figure.subplots(len(faults), squeeze=False, sharex=True, sharey=True)
    for axes, fault in zip(panels.flat, faults, strict=True):
        for strategy, (colour, line) in STYLES.items():
            # Failed connects are part of all: then the curve ends below 1. With TFO a socket may stand at once.
            if (times_ms := values_ms(results.times, fault, strategy)) and strategy not in RACE_TFO:
                done = sorted(filter(math.isfinite, times_ms))
                axes.step(done, [(index + 1) / len(times_ms) for index in range(len(done))], where="post",
                          color=colour, linestyle=line, label=strategy)
        axes.set(xscale="log", ylim=(0, 1.02), title=f"{fault}: {FAULTS[fault]}", ylabel="share of connects done",
                 xlabel="connect time (ms), name lookup included")
        axes.title.set_fontsize(9)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    figure.suptitle(f"Connect times: {profile.title}", fontsize=13)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
