"""The request waterfall of one page at one RTT, TFO off and on: rows of a table, and what report.js draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.selection import Cell, Selection
from harness.analysis.shown import ShownLoad, load_with_requests
from harness.files.results import Results
from harness.show.answers import doubtful_words
from harness.show.labels import TFO_NAMES
from harness.show.report.records import PHASES, ShownRequest, shown_requests
from harness.show.report.tables import Table, columns, known, number
from harness.show.requests_figure import pair_requests

Pair = tuple[ShownRequest | None, ShownRequest | None]
"""The same request without and with TFO."""


@dataclass(frozen=True)
class Waterfall:
    """`key` names it within the report; `pairs` are in the order of the figure timing-<page>-<rtt>.png; `summary` says
    in sentences what it shows; `detailed` is False when neither load has a HAR.
    """

    key: str
    rtt_ms: float
    loads: tuple[ShownLoad | None, ShownLoad | None]
    pairs: list[Pair]
    detailed: bool
    summary: list[str]
    rtt_name: str


def make_waterfalls(results: Results, selection: Selection, page: str, number: int) -> list[Waterfall]:
    """Return a page's waterfalls, one for each RTT at which there is a load to draw. `number` counts the pages."""
    made = (_waterfall(selection, page, rtt_ms, f"{number}-{rtt_ms:g}") for rtt_ms in results.rtts_ms)
    return [waterfall for waterfall in made if waterfall]


def _waterfall(selection: Selection, page: str, rtt_ms: float, key: str) -> Waterfall | None:
    off, on = (load_with_requests(selection, Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    if off is None and on is None:
        return None
    details = [dict(zip(map(id, shown.requests), shown_requests(shown), strict=True)) if shown else {}
               for shown in (off, on)]
    pairs = [(details[0].get(id(first)), details[1].get(id(second)))
             for first, second in pair_requests(off.requests if off else [], on.requests if on else [])]
    detailed = any(request and request.phases_ms for pair in pairs for request in pair)
    return Waterfall(key, rtt_ms, (off, on), pairs, detailed, list(_summary((off, on), pairs)),
                     selection.rtt_name(rtt_ms))


def chart_data(waterfall: Waterfall) -> dict[str, Any]:
    """Return what report.js draws, as JSON values: a short list for each request, since there are very many."""
    return {
        "kind": "waterfall",
        "loads": [None if shown is None else {"name": TFO_NAMES[tfo], "load_event_ms": shown.load.plt_ms,
                                              "path": _path(waterfall, shown, tfo)}
                  for tfo, shown in enumerate(waterfall.loads)],
        "rows": [[_url(pair), *map(_bar, pair)] for pair in waterfall.pairs],
    }


def _path(waterfall: Waterfall, shown: ShownLoad, tfo: int) -> list[list[float]]:
    """Return the critical path's steps as [row, start, end]; a page may ask for one URL several times."""
    explanation = shown.explanation
    rows = {request.entry: row for row, pair in enumerate(waterfall.pairs)
            if (request := pair[tfo]) and request.entry >= 0}
    return [[rows[step.entry], round(step.start_ms, 1), round(step.end_ms, 1)]
            for step in (explanation.steps if explanation else ()) if step.entry in rows]


def _url(pair: Pair) -> str:
    request = pair[0] or pair[1]
    return request.url if request else ""


def _bar(request: ShownRequest | None) -> list[Any] | None:
    if request is None:
        return None
    phases = [round(length, 1) for length in request.phases_ms] if request.phases_ms else None
    return [round(request.start_ms, 1), round(request.end_ms, 1), phases, request.status, request.bytes,
            request.connection, request.error, request.answer]


def _summary(loads: Sequence[ShownLoad | None], pairs: Sequence[Pair]) -> Sequence[str]:
    lines = []
    for tfo, (name, shown) in enumerate(zip(TFO_NAMES, loads, strict=True)):
        if shown is None:
            lines.append(f"{name}: no load to draw.")
            continue
        event = f", load event after {shown.load.plt_ms / 1000:.3f} s" if shown.load.plt_ms else ""
        lines.append(f"{name}: {shown.which}, {len(shown.requests)} requests{event}"
                     f"{_connect_words([pair[tfo] for pair in pairs])}.{doubtful_words(shown.doubtful)}")
    return lines


def _connect_words(requests: Sequence[ShownRequest | None]) -> str:
    known = [request.phases_ms for request in requests if request and request.phases_ms]
    if not known:
        return ""
    connect_ms = sum(phases[PHASES.index("connect")] for phases in known)
    return f"; {connect_ms / 1000:.3f} s of connecting in all requests together"


def request_table(waterfall: Waterfall, url: str) -> Table:
    """Return every request of both loads, two rows under its URL."""
    measured = [f"{name} (ms)" for name in ("Start", *(PHASES if waterfall.detailed else ()), "End")]
    heads = columns("Load", *measured, "Bytes", words=("Status", "Connection"))
    order = " without TFO" if all(waterfall.loads) else ""
    return Table(f"Requests of {url} at {waterfall.rtt_name} ms RTT, in the order of their start{order}", heads, [
        (f"{position}. {_url(pair)}", [_row(name, request, waterfall.detailed)
                                       for name, request in zip(TFO_NAMES, pair, strict=True) if request])
        for position, pair in enumerate(waterfall.pairs, start=1)])


def _row(name: str, request: ShownRequest, detailed: bool) -> list[str]:
    phases = request.phases_ms or (None,) * len(PHASES)
    times = (request.start_ms, *(phases if detailed else ()), request.end_ms)
    status = ", ".join(filter(None, (request.status, request.error, request.answer)))
    return [name, *(number(ms, "{:.0f}") for ms in times), number(request.bytes), known(status),
            known(request.connection)]
