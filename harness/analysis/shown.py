"""Which load stands for a cell wherever one load is shown: in the figures and in the report, the same in both."""

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harness.analysis.answers import doubtful_urls
from harness.analysis.cell import Cell, plt_ms
from harness.analysis.explanation import Explanation, explain
from harness.analysis.requests import ShownRequest, requests_of
from harness.files.load_har import har_file, read_har
from harness.files.results import LoadResult
from harness.files.text_log import read_log
from harness.system.untrusted import MissingFileError, UnreadableFileError


@dataclass(frozen=True)
class ShownLoad:
    """The load that is shown for a cell: that of the median PLT, which is `plt_ms` by the metric in use.

    `among` is how many of the cell's loads that count can be shown so well. `requests` are in order
    of their start; `explanation` is None without a HAR and a record.
    """

    cell: Cell
    load: LoadResult
    plt_ms: float
    requests: tuple[ShownRequest, ...]
    explanation: Explanation | None
    among: int = 0

    @property
    def doubtful(self) -> list[str]:
        """The URLs on its critical path that were not answered by what was recorded for them."""
        return doubtful_urls(self.load)

    @property
    def which(self) -> str:
        """Which of the cell's loads it is, in words."""
        loads = len(self.cell.loads)
        if loads == 1:
            return f"run {self.load.run}, the only load"
        readable = "" if self.among == loads else f"{self.among} readable of "
        return f"run {self.load.run}, the {'' if self.among % 2 else 'lower '}median of {readable}{loads} loads"


@lru_cache(maxsize=4096)
def shown_load(cell: Cell) -> ShownLoad | None:
    """Return the load to show for `cell`: that of the median PLT (of an even number: the lower of the middle two).

    It is chosen among the loads that can be explained, or else among those whose requests are known (logs of 2013).
    None when there is no such load.
    """
    candidates = [ShownLoad(cell, load, value, requests_of(load), explain(load, cell.rtt_ms))
                  for load in cell.loads if (value := plt_ms(load, cell.metric))]
    best = [shown for shown in candidates if shown.explanation] or [shown for shown in candidates if shown.requests]
    if not best:
        return None
    middle = statistics.median_low(shown.plt_ms for shown in best)
    chosen = next(shown for shown in best if shown.plt_ms == middle)
    return replace(chosen, among=len(best))


def file_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Give a line ``file:line: problem`` for each log and HAR of a load that counts and cannot be shown for it."""
    for cell in cells:
        for load in cell.loads:
            yield from _problem(read_log, load.log)
            if load.record and explain(load, cell.rtt_ms) is None:
                yield from _problem(read_har, har_file(load))


def _problem(read: Callable[[Any], object], what: object) -> Iterator[str]:
    try:
        read(what)
    except MissingFileError:
        return
    except UnreadableFileError as error:
        yield str(error)
