"""The critical path, in two sections: where the time until the load event goes, and what PLT with TFO was predicted.

Both are computed from one load's HAR, so that logs of 2013 have neither; then the sections say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.breakdown_figure import STYLES
from harness.explanation import Explanation, explain
from harness.figures import NAMES, choose_load
from harness.prediction import prediction_lines
from harness.report.section import Section
from harness.report.tables import Table, columns, plain_table
from harness.results import LoadResult, Results
from harness.selection import Cell, Selection

UNEXPLAINED = "No load of this page can be explained: that takes one that counts, has a load event, and a HAR and a " \
              "record beside its log (logs of 2013 have neither)."


@dataclass(frozen=True)
class Explained:
    """The load drawn for a cell, with its critical path."""

    rtt_ms: float
    tfo: int
    load: LoadResult
    explanation: Explanation

    @property
    def title(self) -> str:
        """RTT and TFO, as the axis says it."""
        return f"{self.rtt_ms:g} ms, {NAMES[self.tfo]}"


def breakdown_section(results: Results, selection: Selection, page: str) -> Section:
    """Return what each kind of step took on the critical path of the page's drawn loads."""
    found = [one for rtt_ms in results.rtts_ms for tfo in (0, 1) if (one := _explained(selection, page, rtt_ms, tfo))]
    if not found:
        return Section([UNEXPLAINED])
    kinds = [kind for kind in STYLES if any(one.explanation.breakdown_ms.get(kind) for one in found)]
    label = "Stacked bars: time on the critical path by kind. " + " ".join(
        f"{one.title}: " + ", ".join(f"{kind} {one.explanation.breakdown_ms[kind]:.0f} ms" for kind in kinds) + "."
        for one in found)
    words = ["The critical path is the chain of waits that ends with the load event: shorten any of them and PLT gets "
             "shorter, until another chain is the longest. What ran beside it is not in it; which request waited for "
             "which is inferred. Each bar is the load of the median PLT."]
    return Section(words, _figure(found, kinds), label, _breakdown_table(results.urls[page], found, kinds),
                   [_steps_table(results.urls[page], found)])


def prediction_section(results: Results, selection: Selection) -> Section:
    """Return the table of PLT with TFO as predicted from loads without it, and as measured; the texts are plot.py's."""
    header, *lines = prediction_lines(results, selection)
    end = lines.index("")
    titles = header.split("\t")[1:]
    table = Table("PLT with TFO, predicted from the loads without it and measured", columns(titles[0], *titles[1:]))
    for line in lines[:end]:
        if line.startswith("\t"):
            table.groups[-1][1].append(line.split("\t")[1:])
        else:
            table.groups.append((results.urls[line], []))
    return Section(lines[end + 1:], table=None if _says_nothing(table) else table)


def _says_nothing(table: Table) -> bool:
    return not any(any(cell.strip("-") for cell in row[1:]) for _, rows in table.groups for row in rows)


def _explained(selection: Selection, page: str, rtt_ms: float, tfo: int) -> Explained | None:
    drawn = choose_load(selection, Cell(page, rtt_ms, tfo))
    explanation = explain(drawn.load, rtt_ms) if drawn else None
    return Explained(rtt_ms, tfo, drawn.load, explanation) if drawn and explanation else None


def _figure(found: Sequence[Explained], kinds: Sequence[str]) -> dict[str, Any]:
    return {
        "data": [{
            "type": "bar", "orientation": "h", "name": STYLES[kind].label,
            "y": [one.title for one in found],
            "x": [round(one.explanation.breakdown_ms[kind], 1) for one in found],
            "hoverinfo": "text", "textposition": "none", "meta": {"ink": kind},
            "hovertext": [_hover(one, kind) for one in found],
        } for kind in kinds],
        "layout": {"barmode": "stack", "hovermode": "closest", "height": 170 + 34 * len(found), "bargap": 0.25,
                   "xaxis": {"title": {"text": "Time on the critical path (ms)"}},
                   "yaxis": {"autorange": "reversed", "ticksuffix": " "}}}


def _hover(one: Explained, kind: str) -> str:
    taken, count = one.explanation.breakdown_ms, one.explanation.handshakes
    return f"<b>{one.title}</b><br>{STYLES[kind].label}: {taken[kind]:.0f} ms of {sum(taken.values()):.0f} ms<br>" \
           f"{count} TCP handshake{'' if count == 1 else 's'} on the path"


def _breakdown_table(url: str, found: Sequence[Explained], kinds: Sequence[str]) -> Table:
    return plain_table(
        f"Time on the critical path of {url} (ms)",
        columns("RTT and TFO", "Run", "PLT", "TCP handshakes", *(STYLES[kind].label for kind in kinds)),
        [[one.title, str(one.load.run), f"{one.load.plt_ms or 0:.0f}", str(one.explanation.handshakes),
          *(f"{one.explanation.breakdown_ms[kind]:.0f}" for kind in kinds)] for one in found])


def _steps_table(url: str, found: Sequence[Explained]) -> Table:
    heads = columns("Step", "Start (ms)", "End (ms)", "Took (ms)", words=["URL"])
    return Table(f"The critical path of {url}, step by step", heads, [
        (one.title, [[step.kind, f"{step.start_ms:.0f}", f"{step.end_ms:.0f}", f"{step.length_ms:.0f}",
                      step.url] for step in one.explanation.steps])
        for one in found])
