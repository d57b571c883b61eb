"""The results of each unit, read from its folder: one row for a site, with what TFO improves at each RTT."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.analysis.explanation import explain
from harness.analysis.selection import Selection, select
from harness.analysis.stats import Interval, improvement_percent
from harness.errors import InputError
from harness.files.pages import CLIENT
from harness.files.results import has_loads, read_results
from harness.show.columns import export_rows
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import LONGEST_WHY, Unit, UnitOutcome, of_unit
from harness.sweep.recordings import SiteRecording


@dataclass(frozen=True)
class AtRtt:
    """A site at one RTT: what TFO improves, and what its loads without TFO say that it should, in percent of PLT.

    `predicted_percent` comes from playing the loads again. `theory_percent` is handshakes x RTT / PLT: of those
    handshakes on the critical path that TFO can save, each with the RTT to its server.
    """

    off_ms: float
    """Median PLT without TFO."""
    percent: float
    """How many percent less it is with TFO."""
    interval: Interval | None = None
    helps: bool = False
    """Whether all of the interval is an improvement, a significant one."""
    hurts: bool = False
    """Whether all of it is a significant slow-down."""
    predicted_percent: float | None = None
    theory_percent: float | None = None

    @property
    def limits_percent(self) -> tuple[float | None, float | None]:
        """The interval's limits, each None without one."""
        return (self.interval.low_percent, self.interval.high_percent) if self.interval else (None, None)


@dataclass(frozen=True)
class SiteRow:
    """One unit: its `outcome`, what was measured at each RTT (ms), and the cells of its table (docs/results.md)."""

    outcome: UnitOutcome
    synthetic: bool = False
    at: Mapping[float, AtRtt] = field(default_factory=dict)
    cells: Sequence[Mapping[str, Any]] = ({},)

    @property
    def why(self) -> str:
        """All reasons in a line."""
        return "; ".join(self.outcome.why)


def read_rows(folder: SweepFolder, sites: Sequence[SiteRecording], units: Sequence[Unit]) -> list[SiteRow]:
    """Return a row for each unit, and for each page without a recording.

    A folder that cannot be read is a failure with its reason, like any other.
    """
    rows = [SiteRow(UnitOutcome("", site.page.url, "failed" if site.tried else "not measured yet", (site.why_not,)))
            for site in sites if site.why_not]
    for unit in units:
        try:
            outcome = folder.outcome(unit.key) or of_unit(unit, "not measured yet")
        except InputError as error:
            outcome = of_unit(unit, "failed", str(error))
        rows.append(_read_row(folder, outcome))
    return rows


def _read_row(folder: SweepFolder, outcome: UnitOutcome) -> SiteRow:
    """Return the row of one unit. Loads that are gone, or that cannot be read, are a failure with its reason."""
    client = folder.results(outcome.key) / CLIENT
    if outcome.status == "not measured yet" or (outcome.status == "failed" and not has_loads(client)):     # it says why
        return SiteRow(outcome)
    try:
        results = read_results(client)
        selection = select(results, "load")
        row = SiteRow(outcome, results.synthetic, dict(_at(selection)),
                      export_rows(selection) or [{}])
    except Exception as error:      # noqa: BLE001  # a worker sent them: they hide no other site
        why = f"its loads cannot be read: {error}"[:LONGEST_WHY]
        return SiteRow(replace(outcome, status="failed", why=(*outcome.why, why)))
    explain.cache_clear()      # of thousands of sites, nobody asks again
    return row


def _at(selection: Selection) -> Iterator[tuple[float, AtRtt]]:
    """Give what was found at each RTT; nothing where loads without TFO or with it are missing."""
    for row in selection.rows:
        predicted, off_ms = row.prediction, row.off.median_ms
        shares = [improvement_percent(predicted.off_ms, plt_ms) for plt_ms in (
            predicted.predicted_ms, predicted.simple_ms)] if predicted and predicted.off_ms else [None, None]
        if row.percent is not None and off_ms is not None:
            yield row.rtt_ms, AtRtt(off_ms, row.percent, row.interval, row.helps, row.significant and not row.helps,
                                    *shares)
