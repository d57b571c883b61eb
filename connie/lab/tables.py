"""The tables that star.py prints: Markdown, so that they can be kept as they are."""

import math
from collections.abc import Iterator, Sequence

from connie.lab.results import Results, rank
from connie.lab.task import Cost

TIME_HEADER = ("fault", "strategy", "n", "failed", "connect ms: median", "p95", "p99", "first byte ms: median")
COST_HEADER = ("fault", "strategy", "n", "sockets", "bytes sent", "aborted at servers", "CPU ms", "descriptors at peak")
FAST_OPEN_HEADER = ("fault", "way", "n", "failed", "first byte ms: median", "p95", "p99",
                    "servers that got the request in a SYN", "sockets", "bytes sent", "aborted at servers")


def time_table(results: Results) -> list[str]:
    """Return how long connects took. A percentile that lies among failed connects is `failed`."""
    rows = []
    for fault, strategy in results.cells:
        connect_ms = results.connect_ms(fault, strategy)
        rows.append((fault, strategy, str(len(connect_ms)), str(connect_ms.count(math.inf)),
                     *(format_ms(rank(connect_ms, percent)) for percent in (50, 95, 99)),
                     format_ms(rank(results.first_byte_ms(fault, strategy), 50))))
    return markdown(TIME_HEADER, rows)


def cost_table(results: Results) -> list[str]:
    """Return what one connect cost, on average of n."""
    rows = [(cost["fault"], cost["strategy"], str(cost["connects"]), *_per_connect(cost),
             f"{cost['cpu_ms'] / cost['connects']:.2f}",
             "-" if cost["peak_fds"] is None else str(cost["peak_fds"]))
            for cost in (results.cost(*cell) for cell in results.cells) if cost is not None]
    return markdown(COST_HEADER, rows)


def fast_open_table(results: Results) -> list[str]:
    """Return how long it took until the first byte, with and without TCP Fast Open, racing and not."""
    rows = []
    for fault, way in results.fast_open_cells:
        times_ms, cost = results.fast_open_ms(fault, way), results.fast_open_cost(fault, way)
        rows.append((fault, way, str(len(times_ms)), str(times_ms.count(math.inf)),
                     *(format_ms(rank(times_ms, percent)) for percent in (50, 95, 99)),
                     *((f"{cost['fast_open'] / cost['connects']:.2f}", *_per_connect(cost)) if cost else ("-",) * 4)))
    return markdown(FAST_OPEN_HEADER, rows)


def _per_connect(cost: Cost) -> Iterator[str]:
    for total, digits in ((cost["sockets"], 2), (cost["sent_bytes"], 0), (cost["aborted"], 2)):
        yield f"{total / cost['connects']:.{digits}f}"


def format_ms(value: float) -> str:
    """Return ms with one decimal, `failed` for a failure."""
    return "failed" if math.isinf(value) else f"{value:.1f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with columns as wide as they need to be; numbers (from the third column on) to the right."""
    widths = [max(2, *(len(row[column]) for row in [header, *rows])) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [cell.ljust(width) if column < 2 else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(padded)} |"

    rule = [("-" * width) if column < 2 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    return [line(header), line(rule), *map(line, rows)]
