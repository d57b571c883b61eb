"""``sweep-NAME/report.html``: one file with figures and tables of all sites, and the tables and PNGs beside it."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.bootstrap import ROOT
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings
from harness.sweep.plan import Unit, in_words
from harness.sweep.recordings import SiteRecording
from harness.sweep.sections import ReportContext, failure_part, machine_part, result_parts
from harness.sweep.site_rows import SiteRow, read_rows
from harness.sweep.tables import write_loads, write_sites
from harness.system.atomic import write_atomically

HERE = Path(__file__).resolve().parent
SAMPLES = {ROOT / "Top100US.pages": "the hundred most visited sites of the US in 2013, by the list's name; its makers "
           "(github.com/jfbastien/tcp-fastopen) do not say whose ranking it was"}
"""What the project's own lists are samples of."""
CSS = HERE.parent / "show" / "report" / "report.css"


def write_outputs(folder: SweepFolder, asked: SweepSettings, sites: Sequence[SiteRecording], units: Sequence[Unit],
                  ) -> list[Path]:
    """Write tables, figures and report of what the sweep has; return their paths."""
    rows = read_rows(folder, sites, units)
    rtts_ms = sorted({at.rtt_ms for row in rows for at in row.at})
    written = [write_loads(folder, [row.outcome for row in rows]), write_sites(folder, rows, rtts_ms)]
    context = ReportContext(folder, rtts_ms, written)
    parts = []
    for number, options in enumerate(asked.combinations, start=1):
        several = len(asked.combinations) > 1
        what = f": {in_words(options)}" if several else ""
        parts += result_parts(context, what, f"-{number}" if several else "",
                              [row for row in rows if row.outcome.options == options])
    parts += [failure_part(context, rows), machine_part(rows)]
    measured = len({row.outcome.url for row in rows if row.at})
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        name=folder.name, count=measured, lead=_lead(asked, sites, rows), parts=parts,
        style=Markup(CSS.read_text(encoding="utf-8")))
    write_atomically(folder.path / "report.html", html.encode("utf-8", "backslashreplace"))
    return [*context.written, folder.path / "report.html"]


def _lead(asked: SweepSettings, sites: Sequence[SiteRecording], rows: Sequence[SiteRow]) -> list[str]:
    recorded = sum(not site.why_not for site in sites)
    synthetic = len({row.outcome.url for row in rows if row.synthetic and row.at})
    sample = asked.sample_of or SAMPLES.get(asked.pages)
    lead = [f"The list {asked.pages.name} has {len(sites)} pages, {recorded} of which have a recording.",
            f"It is a sample of: {sample}." if sample else "What it is a sample of was not said (--sample-of).",
            "Intervals and bands are bootstrapped over sites: they say what other sites, chosen as those of this list "
            "were, would give. A list is no random sample of the Web, nor are the pages that could be recorded and "
            "measured one of the list: what is missing stands below, with the reasons."]
    if synthetic:
        lead.append(f"{synthetic} of the measured sites are synthetic: made by a program, some from figures of real "
                    "pages. They show what the laboratory does, not what the Web is.")
    return lead
