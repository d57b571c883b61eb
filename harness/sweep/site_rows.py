"""Every site as lines of sites.csv, one for each RTT, read from the units' folders. The report is made of them, too.

    {"key": ..., "options": "--http=1.1", "status": "measured", "why": "", "machine": "lab1", "synthetic": False,
     "rtt_ms": 100.0, "median_off_ms": 1302.0, "improvement_percent": 7.681, ..., "url": "http://a.test/"}
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.explanation import explain
from harness.analysis.selection import select
from harness.errors import InputError
from harness.files.pages import CLIENT
from harness.files.results import has_loads, read_results
from harness.show.columns import KEYS, export_rows
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import IS_KNOWN, LONGEST_WHY, Unit, UnitOutcome, of_unit
from harness.sweep.recordings import SiteRecording

SiteRow = dict[str, Any]
"""How a unit ended, and what `plot.py --export` says of it at one RTT, None for what is not known."""
OF_A_SITE = {**KEYS, "predicted_percent": "predicted_percent", "theory_percent": "theory_percent"}


def read_rows(folder: SweepFolder, sites: Sequence[SiteRecording], units: Sequence[Unit]) -> list[SiteRow]:
    """Return the rows of each unit, and of each page without a recording.

    A folder that cannot be read is a failure with its reason, like any other.
    """
    rows = [row for site in sites if site.why_not for row in _rows(folder, UnitOutcome(
        "", site.page.url, "failed" if site.tried else "not measured yet", (site.why_not,)))]
    for unit in units:
        try:
            outcome = folder.outcome(unit.key) or of_unit(unit, "not measured yet")
        except InputError as error:
            outcome = of_unit(unit, "failed", str(error))
        rows += _rows(folder, outcome)
    return rows


def _rows(folder: SweepFolder, outcome: UnitOutcome) -> Iterator[SiteRow]:
    """Give the rows of one unit. Loads that are gone, or that cannot be read, are a failure with its reason."""
    client, cells = folder.results(outcome.key) / CLIENT, list[SiteRow]()
    if outcome.status in IS_KNOWN or (outcome.key and has_loads(client)):
        try:
            results = read_results(client)
            cells = [{"synthetic": results.synthetic, **row} for row in export_rows(select(results, "load"), OF_A_SITE)]
        except Exception as error:      # noqa: BLE001  # a worker sent them: they hide no other site
            why = f"its loads cannot be read: {error}"[:LONGEST_WHY]
            outcome = replace(outcome, status="failed", why=(*outcome.why, why))
        explain.cache_clear()      # of thousands of sites, nobody asks again
    for cell in cells or [{}]:
        yield {"key": outcome.key, "options": " ".join(outcome.options), "status": outcome.status,
               "why": "; ".join(outcome.why), "machine": outcome.machine, "synthetic": False,
               **dict.fromkeys(OF_A_SITE), **cell, "url": outcome.url}
