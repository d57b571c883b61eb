"""The critical path, in two sections: where the time until the load event goes, and which PLT with TFO is predicted.

Both are computed from a load's HAR. Logs of 2013 have none; then the sections say so.
"""

from collections.abc import Sequence

from markupsafe import Markup

from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.files.results import Results
from harness.show.answers import doubtful_words
from harness.show.breakdown_figure import STYLES, Bar, draw_breakdown, explained_loads, which_loads
from harness.show.inline_svg import inline_svg
from harness.show.prediction import COLUMNS, prediction_notes
from harness.show.report.tables import Section, Table, columns, plain_table, table_of

UNEXPLAINED = "No load of this page can be explained: that takes one that counts, has a load event, and a HAR and a " \
              "record beside its log (logs of 2013 have neither)."


def breakdown_section(results: Results, selection: Selection, page: str, key: str) -> Section:
    """Return what each kind of step took on the critical path of the page's drawn loads."""
    found = explained_loads(results, selection, page)
    if not found:
        return Section([UNEXPLAINED])
    kinds = [kind for kind in STYLES if any(bar.explanation.breakdown_ms.get(kind) for bar in found)]
    label = "Stacked bars: time on the critical path by kind. " + " ".join(
        f"{bar.title}: " + ", ".join(f"{kind} {bar.explanation.breakdown_ms[kind]:.0f} ms" for kind in kinds) + "."
        for bar in found)
    words = ["The critical path is the chain of waits that ends with the load event: shorten any of them and PLT gets "
             "shorter, until another chain is the longest. What ran beside it is not in it; which request waited for "
             f"which is inferred. {which_loads(found)}",
             *(f"{bar.title}:{doubtful_words(bar.shown.doubtful)}" for bar in found if bar.shown.doubtful)]
    figure = draw_breakdown(results, selection, page)
    svg = Markup(inline_svg(figure, key, label)) if figure else ""
    return Section(words, svg, _breakdown_table(results.urls[page], found, kinds),
                   [_steps_table(results.urls[page], found)])


def prediction_section(results: Results, selection: Selection) -> Section:
    """Return the table of PLT with TFO as predicted from loads without it, and as measured; the texts are plot.py's."""
    rows, words = rows_of(results, selection), list(prediction_notes(results, selection))
    if not any(row.prediction for row in rows):
        return Section(words)
    return Section(words, table=table_of("PLT with TFO, predicted from the loads without it and measured", rows,
                                         COLUMNS))


def _breakdown_table(url: str, found: Sequence[Bar], kinds: Sequence[str]) -> Table:
    return plain_table(
        f"Time on the critical path of {url} (ms)",
        columns("RTT and TFO", "Run", "Load event", "TCP handshakes", *(STYLES[kind].label for kind in kinds)),
        [[bar.title, str(bar.shown.load.run), f"{bar.shown.load.plt_ms or 0:.0f}", str(bar.explanation.handshakes),
          *(f"{bar.explanation.breakdown_ms[kind]:.0f}" for kind in kinds)] for bar in found])


def _steps_table(url: str, found: Sequence[Bar]) -> Table:
    heads = columns("Step", "Start (ms)", "End (ms)", "Took (ms)", words=["URL"])
    return Table(f"The critical path of {url}, step by step", heads, [
        (bar.title, [[step.kind, f"{step.start_ms:.0f}", f"{step.end_ms:.0f}", f"{step.length_ms:.0f}",
                      step.url] for step in bar.explanation.steps])
        for bar in found])
