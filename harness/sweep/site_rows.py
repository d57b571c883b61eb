"""The results of each unit, read from its folder: one row for a site, with what TFO improves at each RTT."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from harness.analysis.explanation import explain
from harness.analysis.selection import Selection, select
from harness.analysis.stats import improvement_percent
from harness.errors import InputError
from harness.files.load_record import LoadRecord
from harness.files.result_names import CLIENT
from harness.files.results import Results, has_loads, read_results
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import LONGEST_WHY, UnitOutcome, of_unit
from harness.sweep.plan import Unit
from harness.sweep.recordings import SiteRecording


@dataclass(frozen=True)
class AtRtt:
    """A site at one RTT. Medians of PLT in ms without TFO and with it; how many percent less it is with TFO.

    The 95% interval of the latter is from `pairs` of loads. From the loads without TFO come the prediction, and the
    median number of handshakes on their critical path that TFO can save.
    """

    rtt_ms: float
    off_ms: float
    on_ms: float
    percent: float
    low_percent: float | None
    high_percent: float | None
    pairs: int
    predicted_percent: float | None
    handshakes: float | None

    @property
    def theory_percent(self) -> float | None:
        """The improvement that theory says, in percent: handshakes x RTT / PLT."""
        return None if self.handshakes is None else 100 * self.handshakes * self.rtt_ms / self.off_ms

    @property
    def verdict(self) -> str:
        """Say in a word whether all of the interval is on one side of 0."""
        if self.low_percent is None or self.high_percent is None:
            return "unknown"
        return "faster" if self.low_percent > 0 else "slower" if self.high_percent < 0 else "no difference told"


@dataclass(frozen=True)
class SiteRow:
    """One unit: its `outcome`, and what was measured; counts are medians over the loads without TFO.

    A unit that is not `tried` yet has no outcome of its own: `outcome` says only which unit it is.
    """

    outcome: UnitOutcome
    tried: bool = True
    synthetic: bool = False
    requests: float | None = None
    hosts: float | None = None
    connections: float | None = None
    bytes: float | None = None
    at: tuple[AtRtt, ...] = ()

    @property
    def status(self) -> str:
        """The outcome's status, as tables have it."""
        return self.outcome.status if self.tried else "not measured yet"

    def at_rtt(self, rtt_ms: float) -> AtRtt | None:
        """Return what was found at an RTT, None where nothing was."""
        return next((found for found in self.at if found.rtt_ms == rtt_ms), None)


def read_rows(folder: SweepFolder, sites: Sequence[SiteRecording], units: Sequence[Unit]) -> list[SiteRow]:
    """Return a row for each unit, and for each page without a recording.

    A folder that cannot be read is a failure with its reason, like any other.
    """
    rows = [SiteRow(UnitOutcome("", site.page.url, "failed", (site.why_not,)), site.tried)
            for site in sites if site.why_not]
    for unit in units:
        try:
            outcome = folder.outcome(unit.key)
        except InputError as error:
            outcome = of_unit(unit, "failed", str(error))
        rows.append(read_row(folder, outcome) if outcome else SiteRow(of_unit(unit, "failed"), tried=False))
    return rows


def read_row(folder: SweepFolder, outcome: UnitOutcome) -> SiteRow:
    """Return the row of one unit. Loads that are gone, or that cannot be read, are a failure with its reason."""
    client = folder.results(outcome.key) / CLIENT
    if outcome.status == "failed" and not has_loads(client):    # it failed before its first load, and says why
        return SiteRow(outcome)
    if not client.is_dir():
        return SiteRow(_failed(outcome, f"{client}: its loads are gone"))
    try:
        return _row_of(outcome, read_results(client))
    except Exception as error:      # noqa: BLE001  # a worker sent them: they hide no other site
        return SiteRow(_failed(outcome, f"its loads cannot be read: {error}"))


def _failed(outcome: UnitOutcome, why: str) -> UnitOutcome:
    return replace(outcome, status="failed", why=(*outcome.why, why[:LONGEST_WHY]))


def _row_of(outcome: UnitOutcome, results: Results) -> SiteRow:
    selection = select(results, "load")
    requests, hosts, connections, size = _counts(results)
    row = SiteRow(outcome, True, results.synthetic, requests, hosts, connections, size,
                  tuple(_at(selection)))
    explain.cache_clear()      # of thousands of sites, nobody asks again
    return row


def _at(selection: Selection) -> Iterator[AtRtt]:
    """Give what was found at each RTT; nothing where loads without TFO or with it are missing."""
    for row in selection.rows:
        off_ms, on_ms, predicted = row.off.median_ms, row.on.median_ms, row.prediction
        if row.percent is not None and off_ms is not None and on_ms is not None:
            counts = [explanation.savable_handshakes for _, explanation in row.explanations]
            yield AtRtt(row.rtt_ms, off_ms, on_ms, row.percent, *row.limits_percent, len(row.pairs[0]),
                        improvement_percent(predicted.off_ms, predicted.predicted_ms)
                        if predicted and predicted.off_ms else None,
                        float(statistics.median(counts)) if counts else None)


def _counts(results: Results) -> Iterator[float | None]:
    records = [load.record for load in results.loads if load.valid and load.record and load.run > 0 and not load.tfo]
    for count in COUNTED:
        values = [value for record in records if (value := count(record)) is not None]
        yield float(statistics.median(values)) if values else None


COUNTED: tuple[Callable[[LoadRecord], int | None], ...] = (
    lambda record: record.requests,
    lambda record: len({urlsplit(url).hostname for url in record.request_urls}) or None,
    lambda record: None if record.connections is None else len(record.connections),
    lambda record: record.bytes,
)


AT_RTT = {"plt_no_tfo_{}_ms": "off_ms", "plt_tfo_{}_ms": "on_ms", "improvement_{}_percent": "percent",
          "low_{}_percent": "low_percent", "high_{}_percent": "high_percent", "pairs_{}": "pairs",
          "handshakes_{}": "handshakes", "handshakes_rtt_plt_{}_percent": "theory_percent",
          "predicted_{}_percent": "predicted_percent", "verdict_{}": "verdict"}
"""Columns for each RTT, and what of AtRtt stands in them."""


def flat(row: SiteRow, rtts_ms: Sequence[float]) -> dict[str, Any]:
    """Return a row as it stands in sites.csv."""
    outcome = row.outcome
    found: dict[str, Any] = {
        "url": outcome.url, "options": " ".join(outcome.options), "status": row.status,
        "why": "; ".join(outcome.why), "synthetic": str(row.synthetic).lower(), "requests": row.requests,
        "hosts": row.hosts, "connections": row.connections, "bytes": row.bytes}
    for rtt_ms in rtts_ms:
        at = row.at_rtt(rtt_ms)
        found |= {name.format(f"{rtt_ms:g}"): at and getattr(at, field) for name, field in AT_RTT.items()}
    return {**found, "machine": outcome.machine.name, "kernel": outcome.machine.kernel,
            "browser": outcome.machine.browser, "took_s": outcome.took_s, "key": outcome.key}
