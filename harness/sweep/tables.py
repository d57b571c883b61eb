"""All loads and all sites of a sweep as tables: loads.parquet, loads.csv, sites.csv. One unit is in memory at a time.

The columns of loads are those of ``client/loads.csv`` (docs/results.md), and in front the unit, options and machine.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.load_tables import COLUMNS, load_rows
from harness.errors import InputError
from harness.files.result_names import CLIENT
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import UnitOutcome
from harness.sweep.site_rows import SiteRow, flat
from harness.system.atomic import write_atomically, written_beside

OWN = ("key", "options", "second", "machine", "machine_id", "calibration_page_ms")
TEXT = frozenset(("key", "options", "machine", "machine_id", "page", "url", "failed_by_reason", "why_not",
                  "experiment"))
REAL = frozenset(("calibration_page_ms", "delaynet_ms", "rtt_ms", "plt_ms", "last_ms", "first_byte_ms",
                  "fcp_ms", "lcp_ms", "late_ms"))
BATCH = 50_000
"""Rows of a row group in the Parquet file."""


def write_loads(folder: SweepFolder, outcomes: Iterable[UnitOutcome]) -> list[Path]:
    """Write every load of the units into both files, each in one step; return their paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string() if name in TEXT else pa.float64() if name in REAL else pa.bool_()
                         if name == "valid" else pa.int64()) for name in (*OWN, *COLUMNS)])
    parquet, table = folder.path / "loads.parquet", folder.path / "loads.csv"
    with written_beside(parquet) as columns, written_beside(table) as lines:
        with pq.ParquetWriter(columns, schema) as writer, lines.open("w", encoding="utf-8", newline="") as text:
            rows_writer = csv.DictWriter(text, schema.names)
            rows_writer.writeheader()
            batch: list[dict[str, Any]] = []
            for row in _loads(folder, outcomes):
                rows_writer.writerow({name: _cell(value) for name, value in row.items()})
                batch.append(row)
                if len(batch) == BATCH:
                    writer.write_table(pa.Table.from_pylist(batch, schema))
                    batch = []
            writer.write_table(pa.Table.from_pylist(batch, schema))
    return [parquet, table]


def _loads(folder: SweepFolder, outcomes: Iterable[UnitOutcome]) -> Iterator[dict[str, Any]]:
    for outcome in outcomes:
        client = folder.results(outcome.key) / CLIENT
        if not outcome.key or not client.is_dir():
            continue
        own = {"key": outcome.key, "options": " ".join(outcome.options), "second": outcome.replica,
               "machine": outcome.machine.name, "machine_id": outcome.machine.id,
               "calibration_page_ms": outcome.calibration.page_ms if outcome.calibration else None}
        try:
            yield from ({**own, **_plain(row)} for row in load_rows(client))
        except InputError:
            continue            # sites.csv has it as a failure


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a load's row with a text in place of each list and each count by reason, and each text as UTF-8 has it."""
    failed = row["failed_by_reason"]
    plain = {**row, "why_not": "; ".join(row["why_not"]), "failed_by_reason": None if failed is None else
             json.dumps(failed)} | {name: None if row[name] is None else float(row[name]) for name in REAL & row.keys()}
    return {name: _cell(value) if isinstance(value, str) else value for name, value in plain.items()}


def write_sites(folder: SweepFolder, rows: Sequence[SiteRow], rtts_ms: Sequence[float]) -> Path:
    """Write every site, failures and second measurements too, into sites.csv; return its path."""
    flattened = [flat(row, rtts_ms) for row in rows]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(flattened[0]) if flattened else ["url"])
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in flattened)
    write_atomically(folder.path / "sites.csv", text.getvalue().encode("utf-8", "backslashreplace"))
    return folder.path / "sites.csv"


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.10g}"
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
