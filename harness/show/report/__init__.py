"""output-figures/report.html: everything that was measured, in one file that opens from disk and loads nothing.

Jinja escapes all text, and a Content-Security-Policy forbids any network. Most sections stand in harness.show, each
with its figure (harness.show.section says how to make one); those of proof and provenance in evidence.py.
"""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.analysis.selection import Selection
from harness.analysis.shown import file_problems
from harness.show.breakdown import breakdown_section
from harness.show.columns import table_of
from harness.show.console import COLUMNS, summary_lines
from harness.show.figures import writing
from harness.show.improvement import improvement_section, prediction_section
from harness.show.report.evidence import (
    answers_table,
    environment_section,
    left_out_section,
    proof_section,
    when_measured,
)
from harness.show.row_notes import notes_on
from harness.show.section import Section, Table, plain_table
from harness.show.transports import transports_section
from harness.show.waterfall import requests_section
from harness.system.atomic import write_atomically

HERE = Path(__file__).resolve().parent
TITLE = "Page load time without and with TCP Fast Open"
OF_FIGURES = "These are the figures of plot.py. Point at a bar, or step from one to the next, for all times of its " \
             "request. Thick edges: on the critical path."
UNDRAWN = "No load of this page can be drawn: there is none that counts and holds requests."


def write_report(selection: Selection, path: Path) -> Path:
    """Write the report to `path` and return `path`. The same results give the same bytes. Raises InputError."""
    return write_page(path, render(selection))


def write_page(path: Path, html: str) -> Path:
    """Write a page to `path` in one step, making its folder. Raises InputError when it cannot be written."""
    with writing(path):
        write_atomically(path, html)
    return path


def sections(selection: Selection) -> list[Section]:
    """Return all of the report. A new section is a line here; see harness.show.section."""
    pages = [_page(selection, page, number) for number, page in enumerate(selection.results.urls, start=1)]
    transports = [transports_section(selection)] if selection.compares_transports else []
    return [_results(selection), *transports, improvement_section(selection),
            Section("The pages, request by request", [OF_FIGURES], pages), prediction_section(selection),
            proof_section(selection), left_out_section(selection), environment_section(selection.results)]


def render(selection: Selection) -> str:
    """Return the report as HTML."""
    results = selection.results
    counts = f"{len(results.urls)} pages, {len(results.loads)} loads"
    measured = ", from logs of the 2013 tool" if results.old else "".join(f", measured {when}" for when
                                                                          in when_measured(results))
    return page_html(TITLE, [f"{counts}{measured}."], sections(selection), f"plot.py from {results.clientdir.name}/")


def page_html(title: str, lead: Sequence[str], parts: Sequence[Section], made_by: str) -> str:
    """Return a page with a `title`, `lead` paragraphs, and sections; plot.py's report, and a sweep's."""
    script = _read("report.js")
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        policy=_policy(script), style=Markup(_read("report.css")), script=Markup(script), title=title, lead=lead,
        made_by=made_by, sections=parts)
    return html.encode("utf-8", "backslashreplace").decode("utf-8")     # names of files may be no UTF-8


def _results(selection: Selection) -> Section:
    """Return the console's table and lines, all notes on its rows, and which answers were not recorded."""
    noted = [(row, found) for row in selection.rows if (found := [note.words for note in notes_on(row)])]
    notes = Table("Rows to be careful with", ["RTT (ms)", "What to know before one believes it"], [
        (row.url, [[row.rtt_name, "\n".join(found)]]) for row, found in noted], style="words")
    problems = plain_table("Problems in files", ["Problem"], [
        [problem] for problem in (*selection.results.problems, *file_problems(selection.cells))], "words")
    tables = [table for table in (notes, answers_table(selection), problems) if not table.empty]
    return Section("Results", parts=[
        table_of("Page load time (PLT), without and with TFO", selection.rows, COLUMNS),
        Section("What these numbers are", [*summary_lines(selection)], tables)])


def _page(selection: Selection, page: str, number: int) -> Section:
    rows = selection.of_page(page)
    drawn = [section for place, row in enumerate(rows)
             if (section := requests_section(row, f"waterfall-{number}-{place}"))]
    return Section(selection.results.urls[page], [] if drawn else [UNDRAWN],
                   [*drawn, breakdown_section(rows, f"breakdown-{number}")])


def _policy(script: str) -> str:
    """Return a policy that allows the report's own script by its hash, and inline styles; nothing else.

    https://www.w3.org/TR/CSP3/#directive-default-src
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; " \
           "base-uri 'none'; form-action 'none'"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
