"""All loads and all sites of a sweep as tables: loads.parquet and sites.csv. One unit is in memory at a time.

Their columns are those of ``client/loads.csv`` and of ``plot.py --export`` (docs/results.md), with the unit's in front.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.load_tables import COLUMNS, load_rows
from harness.errors import InputError
from harness.files.result_names import CLIENT
from harness.files.table_files import write_table
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import UnitOutcome
from harness.sweep.site_rows import SiteRow
from harness.system.atomic import written_beside

OWN = ("key", "options", "machine")
TEXT = frozenset((*OWN, "page", "url", "failed_by_reason", "why_not", "experiment"))
REAL = frozenset(("delaynet_ms", "rtt_ms", "plt_ms", "last_ms", "first_byte_ms", "fcp_ms", "lcp_ms",
                  "late_ms"))
"""The other columns hold whole numbers, and `valid` true or false."""


def write_loads(folder: SweepFolder, outcomes: Iterable[UnitOutcome]) -> Path:
    """Write every load of the units into loads.parquet, in one step; return its path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string() if name in TEXT else pa.float64() if name in REAL else pa.bool_()
                         if name == "valid" else pa.int64()) for name in (*OWN, *COLUMNS)])
    path = folder.path / "loads.parquet"
    with written_beside(path) as beside, pq.ParquetWriter(beside, schema) as writer:
        for outcome in outcomes:
            if rows := [*_loads(folder, outcome)]:
                writer.write_table(pa.Table.from_pylist(rows, schema))
    return path


def _loads(folder: SweepFolder, outcome: UnitOutcome) -> Iterator[dict[str, Any]]:
    client = folder.results(outcome.key) / CLIENT
    if not outcome.key or not client.is_dir():
        return
    own = {"key": outcome.key, "options": " ".join(outcome.options), "machine": outcome.machine}
    try:
        for row in load_rows(client):
            failed = row["failed_by_reason"]
            row |= {"why_not": "; ".join(row["why_not"]),
                    "failed_by_reason": None if failed is None else json.dumps(failed)}
            # A file name that is no UTF-8 reaches Python as lone surrogates.
            yield {name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
                   for name, value in (own | row).items()}
    except InputError:
        return              # sites.csv has it as a failure


def write_sites(folder: SweepFolder, rows: Sequence[SiteRow]) -> Path:
    """Write every site, failures too, into sites.csv, a line for each RTT; return its path."""
    names = dict.fromkeys(name for row in rows for cells in row.cells for name in cells)
    table = [{"key": row.outcome.key, "options": " ".join(row.outcome.options), "status": row.status, "why": row.why,
              "machine": row.outcome.machine, "synthetic": row.synthetic, **names, **cells, "url": row.outcome.url}
             for row in rows for cells in row.cells]
    path = folder.path / "sites.csv"
    write_table(path, table)
    return path
