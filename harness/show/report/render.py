"""Makes one HTML file of all parts: Jinja escapes all text, and a Content-Security-Policy forbids any network."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.analysis.transports import is_compared
from harness.files.results import Results
from harness.show.report.critical import breakdown_section, prediction_section
from harness.show.report.improvement import improvement_section
from harness.show.report.proof import failed_requests_table, invalid_loads_table, proof_table
from harness.show.report.provenance import Provenance, find_provenance
from harness.show.report.tables import table_of
from harness.show.report.transports import transports_section
from harness.show.report.waterfall import make_waterfalls
from harness.show.table import COLUMNS, footer_lines

HERE = Path(__file__).resolve().parent
SECTIONS = {"results": "Results", "transports": "What replaced TFO", "improvement": "Improvement against RTT",
            "pages": "The pages, request by request",
            "prediction": "Prediction", "proof": "Proof of TFO", "left-out": "Left out and failed",
            "environment": "Environment"}


def render(results: Results, selection: Selection) -> str:
    """Return the report as HTML."""
    provenance = find_provenance(results)
    improvement = improvement_section(results, selection)
    transports = transports_section(results, selection) if is_compared(results) else None
    pages = [_page(results, selection, page, number) for number, page in enumerate(results.urls, start=1)]
    script = _read("report.js")
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        policy=_policy(script), style=Markup(_read("report.css")),
        script=Markup(script),
        subtitle=_subtitle(results, provenance), source=results.clientdir.name + "/",
        sections=[(key, title) for key, title in SECTIONS.items() if key != "transports" or transports],
        titles=SECTIONS, transports=transports,
        results=table_of("Page load time (PLT), without and with TFO", rows_of(results, selection), COLUMNS),
        notes=_notes(results, selection),
        improvement=improvement, pages=pages, prediction=prediction_section(results, selection),
        proof=proof_table(results, selection), invalid=invalid_loads_table(results, selection),
        failed=failed_requests_table(results), provenance=provenance,
        recorded=any(load.record for load in results.loads))
    return html.encode("utf-8", "backslashreplace").decode("utf-8")     # names of files may be no UTF-8


def _page(results: Results, selection: Selection, page: str, number: int) -> dict[str, Any]:
    """What the template needs of one page."""
    return {"id": f"page-{number}", "url": results.urls[page],
            "waterfalls": list(make_waterfalls(results, selection, page, number)),
            "breakdown": breakdown_section(results, selection, page, f"breakdown-{number}")}


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


def _policy(script: str) -> str:
    """Return a policy that allows the report's own script by its hash, and inline styles; nothing else.

    https://www.w3.org/TR/CSP3/#directive-default-src
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; " \
           "base-uri 'none'; form-action 'none'"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
