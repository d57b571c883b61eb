"""What comes out of a sweep: ``sweep-NAME/report.html``, one file with figures and tables of all sites, and two tables.

loads.parquet has all loads and sites.csv all sites; one unit is in memory at a time. Their columns are those of
``client/loads.csv`` and of ``plot.py --export`` (docs/results.md), with the unit's in front.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.load_tables import COLUMNS, load_rows
from harness.errors import InputError
from harness.files.pages import CLIENT
from harness.files.table_files import write_table
from harness.show.columns import rounded
from harness.show.report import page_html, write_page
from harness.show.section import Section
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings
from harness.sweep.plan import IS_KNOWN, Unit
from harness.sweep.recordings import SiteRecording
from harness.sweep.sections import combination_sections, failure_section
from harness.sweep.site_rows import SiteRow, read_rows
from harness.system.atomic import written_beside

OWN = ("key", "options", "machine")
TEXT = frozenset((*OWN, "page", "url", "failed_by_reason", "why_not", "experiment"))
REAL = frozenset(("delaynet_ms", "rtt_ms", "plt_ms", "last_ms", "first_byte_ms", "fcp_ms", "lcp_ms",
                  "late_ms"))
"""The other columns hold whole numbers, and `valid` true or false."""


def write_loads(folder: SweepFolder, rows: Iterable[SiteRow]) -> Path:
    """Write every load of the units into loads.parquet, in one step; return its path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string() if name in TEXT else pa.float64() if name in REAL else pa.bool_()
                         if name == "valid" else pa.int64()) for name in (*OWN, *COLUMNS)])
    units = {row["key"]: {name: row[name] for name in OWN} for row in rows if row["key"]}
    path = folder.path / "loads.parquet"
    with written_beside(path) as beside, pq.ParquetWriter(beside, schema) as writer:
        for unit in units.values():
            if loads := [*_loads(folder, unit)]:
                writer.write_table(pa.Table.from_pylist(loads, schema))
    return path


def _loads(folder: SweepFolder, unit: SiteRow) -> Iterator[dict[str, Any]]:
    client = folder.results(unit["key"]) / CLIENT
    if not client.is_dir():
        return
    try:
        for row in load_rows(client):
            failed = row["failed_by_reason"]
            row |= {"why_not": "; ".join(row["why_not"]),
                    "failed_by_reason": None if failed is None else json.dumps(failed)}
            # A file name that is no UTF-8 reaches Python as lone surrogates.
            yield {name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
                   for name, value in (unit | row).items()}
    except InputError:
        return              # sites.csv has it as a failure


def write_outputs(folder: SweepFolder, asked: SweepSettings, sites: Sequence[SiteRecording], units: Sequence[Unit],
                  ) -> list[Path]:
    """Write tables, figures and report of what the sweep has; return their paths."""
    rows, table = read_rows(folder, sites, units), folder.path / "sites.csv"
    write_table(table, rounded(rows))
    sections: list[Section] = []
    for number, options in enumerate(asked.combinations, start=1):
        name = f"-{number}" if len(asked.combinations) > 1 else ""
        sections += combination_sections(folder, name, options, [
            row for row in rows if row["key"] and row["options"] == " ".join(options)])
    sections.append(failure_section(rows))
    measured = {row["url"]: row for row in rows
                if row["improvement_percent"] is not None and row["status"] in IS_KNOWN}
    return [write_loads(folder, rows), table, write_page(folder.path / "report.html", page_html(
        f"TCP Fast Open over {len(measured)} sites: {folder.name}", _lead(asked, sites, measured.values()), sections,
        "sweep.py"))]


def _lead(asked: SweepSettings, sites: Sequence[SiteRecording], measured: Collection[SiteRow]) -> list[str]:
    recorded = sum(not site.why_not for site in sites)
    synthetic = sum(row["synthetic"] for row in measured)
    machines = Counter(row["machine"] for row in measured)
    lead = [f"The list {asked.pages.name} has {len(sites)} pages, {recorded} of which have a recording. Measured on: "
            f"{', '.join(f'{name} ({count} sites)' for name, count in sorted(machines.items())) or 'nothing yet'}.",
            f"It is a sample of: {asked.sample_of}." if asked.sample_of else
            "What it is a sample of was not said (--sample-of).",
            "Intervals are those over sites: they say what other sites, chosen as those of this list "
            "were, would give. A list is no random sample of the Web, nor are the pages that could be recorded and "
            "measured one of the list: what is missing stands below, with the reasons."]
    if synthetic:
        lead.append(f"{synthetic} of the measured sites are synthetic: made by a program, some from figures of real "
                    "pages. They show what the laboratory does, not what the Web is.")
    return lead
