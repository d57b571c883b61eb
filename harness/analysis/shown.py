"""Which load stands for a cell wherever one load is shown: in the figures and in the report, the same in both."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from harness.analysis.answers import doubtful_urls
from harness.analysis.cell import Cell, plt_ms
from harness.analysis.explanation import Explanation, explain
from harness.files.load_har import har_problem
from harness.files.results import LoadResult
from harness.files.text_log import Transaction, read_log
from harness.system.untrusted import MissingFileError, UnreadableFileError


@dataclass(frozen=True)
class ShownLoad:
    """The load that is shown for a cell: that of the median PLT, which is `plt_ms` by the metric in use.

    `loads` is how many loads of the cell count, `among` how many of them can be shown so well. `requests` are in order
    of their start, empty without a text log that can be read; `explanation` is None without a HAR and a record.
    `doubtful` are the URLs on its critical path that were not answered by what was recorded for them.
    """

    load: LoadResult
    plt_ms: float
    loads: int
    requests: tuple[Transaction, ...]
    explanation: Explanation | None
    doubtful: tuple[str, ...] = ()
    among: int = 0

    @property
    def which(self) -> str:
        """Which of the cell's loads it is, in words."""
        if self.loads == 1:
            return f"run {self.load.run}, the only load"
        what = "the only one" if self.among == 1 else "the median" if self.among % 2 else "the lower of the middle two"
        these = f"{self.loads} loads" if self.among == self.loads else \
            f"those {self.among} of {self.loads} loads whose files can be read" if self.among > 1 else \
            f"{self.loads} loads whose files can be read"
        return f"run {self.load.run}, {what} of {these}"


@lru_cache(maxsize=4096)
def shown_load(cell: Cell) -> ShownLoad | None:
    """Return the load to show for `cell`: that of the median PLT (of an even number: the lower of the middle two).

    It is chosen among the loads that can be drawn and explained; when none can be both, among those that can be drawn,
    else among those that can be explained. None when there is no such load.
    """
    candidates = [ShownLoad(load, value, len(cell.loads), _requests(load)[0], explain(load, cell.rtt_ms))
                  for load in cell.loads if (value := plt_ms(load, cell.metric))]
    most = max(map(_what_there_is, candidates), default=(False, False))
    if not any(most):
        return None
    best = [shown for shown in candidates if _what_there_is(shown) == most]
    middle = statistics.median_low(shown.plt_ms for shown in best)
    chosen = next(shown for shown in best if shown.plt_ms == middle)
    return replace(chosen, among=len(best), doubtful=tuple(doubtful_urls(chosen.load, cell.rtt_ms)))


def load_with_requests(cell: Cell) -> ShownLoad | None:
    """Return the load to show for `cell` if its requests are known, so that they can be drawn."""
    shown = shown_load(cell)
    return shown if shown and shown.requests else None


def file_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Give a line ``file:line: problem`` for each log and HAR of a load that counts and cannot be shown for it."""
    for cell in cells:
        for load in cell.loads:
            if problem := _requests(load)[1]:
                yield problem
            if load.record and explain(load, cell.rtt_ms) is None and (problem := har_problem(load)):
                yield problem


def _what_there_is(shown: ShownLoad) -> tuple[bool, bool]:
    return bool(shown.requests), shown.explanation is not None


@lru_cache(maxsize=4096)
def _requests(load: LoadResult) -> tuple[tuple[Transaction, ...], str]:
    """Return the requests in the load's text log, and why it cannot be read: "" when it can, or there is none."""
    try:
        transactions = read_log(load.log).transactions
    except MissingFileError:
        return (), ""
    except UnreadableFileError as error:
        return (), str(error)
    return tuple(sorted(transactions, key=lambda request: (request.start_ms, request.end_ms))), ""
