"""``sweep-NAME/report.html``: one file with figures and tables of all sites, and the tables and PNGs beside it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.bootstrap import ROOT
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings
from harness.sweep.plan import Unit
from harness.sweep.recordings import SiteRecording
from harness.sweep.sections import combination_sections, failure_section
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
    written = [write_loads(folder, [row.outcome for row in rows]), write_sites(folder, rows)]
    sections = []
    for number, options in enumerate(asked.combinations, start=1):
        name = f"-{number}" if len(asked.combinations) > 1 else ""
        sections += combination_sections(folder, name, options, [row for row in rows if row.outcome.options == options])
    sections.append(failure_section(rows))
    written += [folder.path / figure.name for section in sections for figure in section.figures]
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("report.html.j2").render(
        name=folder.name, count=len({row.outcome.url for row in rows if row.at}), lead=_lead(asked, sites, rows),
        parts=sections, style=Markup(CSS.read_text(encoding="utf-8")))
    write_atomically(folder.path / "report.html", html.encode("utf-8", "backslashreplace"))
    return [*written, folder.path / "report.html"]


def _lead(asked: SweepSettings, sites: Sequence[SiteRecording], rows: Sequence[SiteRow]) -> list[str]:
    recorded = sum(not site.why_not for site in sites)
    measured = {row.outcome.url: row for row in rows if row.at}
    synthetic = sum(row.synthetic for row in measured.values())
    machines = Counter(row.outcome.machine for row in measured.values())
    sample = asked.sample_of or SAMPLES.get(asked.pages)
    lead = [f"The list {asked.pages.name} has {len(sites)} pages, {recorded} of which have a recording. Measured on: "
            f"{', '.join(f'{name} ({count} sites)' for name, count in sorted(machines.items())) or 'nothing yet'}.",
            f"It is a sample of: {sample}." if sample else "What it is a sample of was not said (--sample-of).",
            "Intervals and bands are bootstrapped over sites: they say what other sites, chosen as those of this list "
            "were, would give. A list is no random sample of the Web, nor are the pages that could be recorded and "
            "measured one of the list: what is missing stands below, with the reasons."]
    if synthetic:
        lead.append(f"{synthetic} of the measured sites are synthetic: made by a program, some from figures of real "
                    "pages. They show what the laboratory does, not what the Web is.")
    return lead
