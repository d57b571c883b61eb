"""Which load stands for a cell wherever one load is shown, in the figures and in the report alike; and its requests.

These are from its HAR, or of 2013's loads from their text log.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harness.analysis.doubts import doubtful_urls, received
from harness.analysis.explanation import Explanation, explain
from harness.analysis.row import Cell, plt_ms
from harness.errors import many
from harness.files.exchange import UNFINISHED, Answer, Exchange, Request
from harness.files.har import read_har
from harness.files.results import LoadResult
from harness.files.text_log import read_log
from harness.system.untrusted import MissingFileError, UnreadableFileError

PHASES = {"blocked": "blocked", "dns": "dns", "connect": "connect", "tls": "ssl", "send": "send", "wait": "wait",
          "receive": "receive"}
"""In the order a request goes through them, and what HAR 1.2 calls them. TLS is not counted as part of connect."""
ANSWERS = {"stand-in": "answered by a stand-in", "missing": "not recorded: 404", "failed": "failed"}
"""Kinds of answers that were not recorded for their request, in words."""


@dataclass(frozen=True)
class ShownRequest:
    """One request of a load. Times in ms from the start of the load.

    `exchange` is what the HAR says of it, and `entry` its place in the HAR; -1 where only a text log tells of it: its
    URL, and the words of the answer's status. `answer` is the kind of answer it got when that was not the recorded one:
    stand-in, missing, failed.
    """

    exchange: Exchange
    start_ms: float
    end_ms: float
    entry: int = -1
    answer: str = ""

    @property
    def url(self) -> str:
        """Its URL."""
        return self.exchange.request.url

    @property
    def phases_ms(self) -> dict[str, float] | None:
        """Lengths of PHASES by name, None without a HAR."""
        if self.entry < 0:
            return None
        known = {name: max(0.0, getattr(self.exchange.phases, phase)) for name, phase in PHASES.items()}
        return known | {"connect": max(0.0, known["connect"] - known["tls"])}       # HAR 1.2: connect includes ssl

    @property
    def status(self) -> str:
        """What is known of its answer: "200 OK", and what was wrong with it."""
        found = self.exchange
        line = f"{found.answer.status or ''} {found.answer.reason}".strip()
        problem = found.error or ("from cache" if found.from_cache else "")
        return ", ".join(filter(None, (line, problem, ANSWERS.get(self.answer))))


def requests_of(load: LoadResult) -> tuple[ShownRequest, ...]:
    """Return the requests of a load that ended, in order of their start; () without a HAR or log that can be read."""
    found = sorted(_of_har(load) or _of_log(load), key=lambda request: (request.start_ms, request.end_ms))
    kinds: dict[str, list[str]] = defaultdict(list)         # by URL, in their order; "" for the recorded answer
    for answer in received(load):
        if answer.error != UNFINISHED:
            kinds[answer.url].append("" if answer.kind == "exact" else answer.kind)
    return tuple(replace(request, answer=kinds[request.url].pop(0)) if kinds[request.url] and not (
        request.exchange.from_cache) else request for request in found)


def _of_har(load: LoadResult) -> Sequence[ShownRequest]:
    try:
        log = read_har(load.har)
    except UnreadableFileError:
        return ()
    return [ShownRequest(found, start_ms, start_ms + found.length_ms, place)
            for place, found in enumerate(log.exchanges) if found.started and found.error != UNFINISHED
            for start_ms in [(found.started - log.began).total_seconds() * 1000]]


def _of_log(load: LoadResult) -> Sequence[ShownRequest]:
    try:
        log = read_log(load.log)
    except UnreadableFileError:
        return ()
    statuses = {response.url: response.status for response in log.responses}
    return [ShownRequest(Exchange(request=Request("GET", each.url), answer=Answer(reason=statuses.get(each.url, ""))),
                         each.start_ms, each.end_ms) for each in log.transactions]


@dataclass(frozen=True)
class ShownLoad:
    """The load that is shown for a cell: that of the median PLT, which is `plt_ms` by the metric in use.

    `requests` are in order of their start; `explanation` is None without a HAR and a record.
    """

    cell: Cell
    load: LoadResult
    plt_ms: float
    requests: tuple[ShownRequest, ...]
    explanation: Explanation | None

    @property
    def doubtful(self) -> list[str]:
        """The URLs on its critical path that were not answered by what was recorded for them."""
        return doubtful_urls(self.load)

    @property
    def which(self) -> str:
        """Which of the cell's loads it is, in words."""
        count = len(self.cell.loads)
        return f"run {self.load.run}, the {'' if count % 2 else 'lower '}median of {many(count, 'load')}"


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
    return next(shown for shown in best if shown.plt_ms == middle)


def file_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Give a line ``file:line: problem`` for each log and HAR of a load that counts and cannot be shown for it."""
    for cell in cells:
        for load in cell.loads:
            yield from _problem(read_log, load.log)
            if load.record and explain(load, cell.rtt_ms) is None:
                yield from _problem(read_har, load.har)


def _problem(read: Callable[[Any], object], what: object) -> Iterator[str]:
    try:
        read(what)
    except MissingFileError:
        return
    except UnreadableFileError as error:
        yield str(error)
