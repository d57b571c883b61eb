"""Makes one HTML file of all parts: Jinja escapes all text, and a Content-Security-Policy forbids any network."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from harness.analysis.selection import Selection
from harness.files.results import Results
from harness.show.report.critical import breakdown_section, prediction_section
from harness.show.report.improvement import improvement_section
from harness.show.report.proof import failed_requests_table, invalid_loads_table, proof_table
from harness.show.report.provenance import Provenance, find_provenance
from harness.show.report.records import ANSWERS, PHASES
from harness.show.report.tables import Section, Table, columns
from harness.show.report.waterfall import Waterfall, chart_data, make_waterfalls, request_table
from harness.show.table import HEADER, footer_lines, row_cells

HERE = Path(__file__).resolve().parent
SECTIONS = {"results": "Results", "improvement": "Improvement against RTT", "pages": "The pages, request by request",
            "prediction": "Prediction", "proof": "Proof of TFO", "left-out": "Left out and failed",
            "environment": "Environment"}


def render(results: Results, selection: Selection) -> str:
    """Return the report as HTML."""
    provenance = find_provenance(results)
    improvement = improvement_section(results, selection)
    charts = _figure_chart("improvement", improvement)
    pages = [_page(results, selection, page, number, charts) for number, page in enumerate(results.urls, start=1)]
    script, plotly = _read("report.js"), get_plotlyjs()
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        policy=_policy(plotly, script), style=Markup(_read("report.css")),
        script=Markup(script), plotly=Markup(plotly),
        data=_json({"phases": PHASES, "answers": ANSWERS, "charts": charts}),
        subtitle=_subtitle(results, provenance), source=results.clientdir.name + "/",
        sections=SECTIONS.items(), titles=SECTIONS,
        results=_results_table(results, selection), notes=_notes(results, selection),
        improvement=improvement, pages=pages, prediction=prediction_section(results, selection),
        proof=proof_table(results, selection), invalid=invalid_loads_table(results, selection),
        failed=failed_requests_table(results), provenance=provenance,
        recorded=any(load.record for load in results.loads))
    return html.encode("utf-8", "backslashreplace").decode("utf-8")     # names of files may be no UTF-8


def _page(results: Results, selection: Selection, page: str, number: int, charts: dict[str, Any]) -> dict[str, Any]:
    """What the template needs of one page; its charts are put into `charts`."""
    url, waterfalls = results.urls[page], make_waterfalls(results, selection, page, number)
    charts.update({f"waterfall-{waterfall.key}": chart_data(waterfall) for waterfall in waterfalls})
    breakdown = breakdown_section(results, selection, page)
    charts.update(_figure_chart(f"breakdown-page-{number}", breakdown))
    return {"id": f"page-{number}", "url": url, "waterfalls": [_view(waterfall, url) for waterfall in waterfalls],
            "breakdown": breakdown}


def _figure_chart(key: str, section: Section) -> dict[str, Any]:
    return {key: {"kind": "figure", "figure": section.figure}} if section.figure else {}


def _view(waterfall: Waterfall, url: str) -> dict[str, Any]:
    return {"key": waterfall.key, "rtt": f"{waterfall.rtt_name} ms", "summary": waterfall.summary,
            "detailed": waterfall.detailed, "table": request_table(waterfall, url),
            "label": " ".join([f"Waterfall of {len(waterfall.pairs)} requests.", *waterfall.summary])}


def _results_table(results: Results, selection: Selection) -> Table:
    """Return the students' table, with the same texts as on the console; each page's rows are under its name."""
    _, *titles = HEADER.split("\t")
    return Table("Page load time (PLT), without and with TFO", columns(titles[0], *titles[1:]), [
        (url, [row_cells(selection, page, rtt_ms) for rtt_ms in results.rtts_ms])
        for page, url in results.urls.items()])


def _notes(results: Results, selection: Selection) -> list[tuple[str, list[str]]]:
    """Return the lines under the console's table, each with the lines that are indented below it."""
    notes: list[tuple[str, list[str]]] = []
    for line in footer_lines(results, selection):
        if line.startswith(" ") and notes:
            notes[-1][1].append(line.strip())
        else:
            notes.append((line, []))
    return notes


def _subtitle(results: Results, provenance: Provenance) -> str:
    counts = f"{len(results.urls)} pages, {len(results.loads)} loads"
    if results.old:
        return f"{counts}, from logs of the 2013 tool."
    return f"{counts}, measured {provenance.measured}." if provenance.measured else f"{counts}."


def _policy(*scripts: str) -> str:
    """Return a policy that allows the report's own scripts by their hashes, inline styles and images; nothing else.

    Plotly writes styles as it draws. https://www.w3.org/TR/CSP3/#directive-default-src, #strict-dynamic-usage
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    own = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {own}; style-src 'unsafe-inline'; img-src data: blob:; " \
           "base-uri 'none'; form-action 'none'"


def _json(data: object) -> Markup:
    """Return JSON that can stand inside a script element: with no "<" in it, nothing ends the element or begins one."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
