"""Client folders beside what their table must be: ``clients/NAME/client/`` and ``clients/NAME/expected.json``.

The expected file has for each page and RTT in ms ("PAGE at RTT") the medians in s without and with TFO, the improvement
and its 95% interval in percent (null: "-"), how many loads count, and the kinds of notes on the row; then the loads
that are left out, and plot.py's exit status.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.improvement import improvements
from harness.analysis.selection import Cell, select
from harness.files.results import read_results
from harness.show.notes import notes_on

CLIENTS = sorted(path.parent for path in (Path(__file__).parent / "clients").glob("*/expected.json"))


def table_of(client: Path) -> dict[str, Any]:
    """Return what the table of a client folder says, by kinds and numbers."""
    results = read_results(client)
    selection = select(results, "load")
    rows = {}
    for row in improvements(results, selection):
        rows[f"{row.page} at {row.rtt_name}"] = {
            "off_s": None if row.off_ms is None else round(row.off_ms / 1000, 3),
            "on_s": None if row.on_ms is None else round(row.on_ms / 1000, 3),
            "percent": None if row.percent is None else round(row.percent, 2),
            "interval": [round(row.interval.low_percent, 2), round(row.interval.high_percent, 2)]
            if row.interval else None,
            "significant": row.significant,
            "loads": [len(selection.cells[Cell(row.page, row.rtt_ms, tfo)]) for tfo in (0, 1)],
            "notes": sorted(note.kind.name for note in notes_on(results, selection, row))}
    left_out = sorted(str(load.log.relative_to(client)) for load, _ in selection.left_out)
    return {"rows": rows, "left_out": left_out, "status": 1 if selection.missing(results.tfos) else 0}


@pytest.mark.parametrize("folder", CLIENTS, ids=lambda folder: folder.name)
def test_the_table_is_the_expected_one(folder: Path) -> None:
    assert table_of(folder / "client") == json.loads((folder / "expected.json").read_text())
