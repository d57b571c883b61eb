"""The request waterfall of one page at one RTT, TFO off and on: rows of a table, and what report.js draws."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.explanation import explain
from harness.figures import NAMES, Drawn, choose_load, pair_requests
from harness.report.records import PHASES, Request, drawn_requests
from harness.report.tables import Table, columns, known, number
from harness.results import Results
from harness.selection import Cell, Selection

Pair = tuple[Request | None, Request | None]
"""The same request without and with TFO."""


@dataclass(frozen=True)
class Waterfall:
    """`key` names it within the report; `pairs` are in the order of the figure timing-<page>-<rtt>.png; `summary` says
    in sentences what it shows; `detailed` is False when neither load has a HAR.
    """

    key: str
    rtt_ms: float
    loads: tuple[Drawn | None, Drawn | None]
    pairs: list[Pair]
    detailed: bool
    summary: list[str]


def make_waterfalls(results: Results, selection: Selection, page: str, number: int) -> list[Waterfall]:
    """Return a page's waterfalls, one for each RTT at which there is a load to draw. `number` counts the pages."""
    made = (_waterfall(selection, page, rtt_ms, f"{number}-{rtt_ms:g}") for rtt_ms in results.rtts_ms)
    return [waterfall for waterfall in made if waterfall]


def _waterfall(selection: Selection, page: str, rtt_ms: float, key: str) -> Waterfall | None:
    off, on = (choose_load(selection, Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    if off is None and on is None:
        return None
    details = [dict(zip(map(id, drawn.requests), drawn_requests(drawn), strict=True)) if drawn else {}
               for drawn in (off, on)]
    pairs = [(details[0].get(id(first)), details[1].get(id(second)))
             for first, second in pair_requests(off.requests if off else [], on.requests if on else [])]
    detailed = any(request and request.phases_ms for pair in pairs for request in pair)
    return Waterfall(key, rtt_ms, (off, on), pairs, detailed, list(_summary((off, on), pairs)))


def chart_data(waterfall: Waterfall) -> dict[str, Any]:
    """Return what report.js draws, as JSON values: short lists, since there is one for every request of every load."""
    return {
        "kind": "waterfall",
        "loads": [None if drawn is None else {"name": NAMES[tfo], "load_event_ms": drawn.load.plt_ms,
                                              "path": _path(waterfall, drawn, tfo)}
                  for tfo, drawn in enumerate(waterfall.loads)],
        "rows": [[_url(pair), *map(_bar, pair)] for pair in waterfall.pairs],
    }


def _path(waterfall: Waterfall, drawn: Drawn, tfo: int) -> list[list[float]]:
    """Return the critical path's steps as [row, start, end]: of the rows with a step's URL, the one nearest in time."""
    explanation = explain(drawn.load, waterfall.rtt_ms)
    rows: dict[str, list[tuple[int, Request]]] = defaultdict(list)
    for row, pair in enumerate(waterfall.pairs):
        if request := pair[tfo]:
            rows[request.url].append((row, request))
    return [[min(rows[step.url], key=lambda one: abs(one[1].start_ms - step.start_ms))[0],
             round(step.start_ms, 1), round(step.end_ms, 1)]
            for step in (explanation.steps if explanation else ()) if rows[step.url]]


def _url(pair: Pair) -> str:
    request = pair[0] or pair[1]
    return request.url if request else ""


def _bar(request: Request | None) -> list[Any] | None:
    if request is None:
        return None
    phases = [round(length, 1) for length in request.phases_ms] if request.phases_ms else None
    return [round(request.start_ms, 1), round(request.end_ms, 1), phases, request.status, request.bytes,
            request.connection, request.error]


def _summary(loads: Sequence[Drawn | None], pairs: Sequence[Pair]) -> Sequence[str]:
    lines = []
    for tfo, (name, drawn) in enumerate(zip(NAMES, loads, strict=True)):
        if drawn is None:
            lines.append(f"{name}: no load to draw.")
            continue
        which = f"the median of {drawn.loads} loads" if drawn.loads > 1 else "the only load"
        event = f", load event after {drawn.load.plt_ms / 1000:.3f} s" if drawn.load.plt_ms else ""
        lines.append(f"{name}: run {drawn.load.run}, {which}, {len(drawn.requests)} requests{event}"
                     f"{_connect_words([pair[tfo] for pair in pairs])}.")
    return lines


def _connect_words(requests: Sequence[Request | None]) -> str:
    known = [request.phases_ms for request in requests if request and request.phases_ms]
    if not known:
        return ""
    connect_ms = sum(phases[PHASES.index("connect")] for phases in known)
    return f"; {connect_ms / 1000:.3f} s of connecting in all requests together"


def request_table(waterfall: Waterfall, url: str) -> Table:
    """Return every request of both loads, two rows under its URL."""
    measured = [f"{name} (ms)" for name in ("Start", *(PHASES if waterfall.detailed else ()), "End")]
    heads = columns("Load", *measured, "Bytes", words=("Status", "Connection"))
    return Table(f"Requests of {url} at {waterfall.rtt_ms:g} ms RTT, in the order of their start without TFO", heads, [
        (f"{place}. {_url(pair)}", [_row(name, request, waterfall.detailed)
                                    for name, request in zip(NAMES, pair, strict=True) if request])
        for place, pair in enumerate(waterfall.pairs, start=1)])


def _row(name: str, request: Request, detailed: bool) -> list[str]:
    phases = request.phases_ms or (None,) * len(PHASES)
    times = (request.start_ms, *(phases if detailed else ()), request.end_ms)
    status = ", ".join(filter(None, (request.status, request.error)))
    return [name, *(number(ms, "{:.0f}") for ms in times), number(request.bytes), known(status),
            known(request.connection)]
