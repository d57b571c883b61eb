"""Client folders beside what their table must be: ``clients/NAME/client/`` and ``clients/NAME/expected.json``.

Those of real loads are packed, as ``clients/NAME/client.tar.gz``: pages of the test internet over HTTP/2 and 1.1, the
paper's as they were in 2013 and the synthetic ones over 1.0. They hold a warm-up, in which Chrome says who asked for
what, two loads without TFO and, of the two with it, the times.

The expected file has for each page and RTT in ms ("PAGE at RTT") the medians in s without and with TFO, the improvement
and its 95% interval in percent (null: "-"), how many loads count, and the kinds of notes on the row; what is
predicted (handshakes on the critical path, lowest and highest, and PLT with TFO in s), and each such path: where
it leads through, and for how many ms. Then the headings, the loads that are left out, and plot.py's exit status.
"""

import json
import tarfile
from itertools import groupby
from pathlib import Path

import pytest

from harness.analysis.explanation import explain
from harness.analysis.selection import select
from harness.files.results import LoadResult, read_results
from harness.show.row_notes import notes_on
from tests.support.noted import JsonObject

CLIENTS = sorted(path.parent for path in (Path(__file__).parent / "clients").glob("*/expected.json"))


def table_of(client: Path) -> JsonObject:
    """Return what the table of a client folder says, by kinds and numbers."""
    selection = select(read_results(client), "load")
    rows: dict[str, JsonObject] = {}
    for row in selection.rows:
        off_ms, on_ms = row.off.median_ms, row.on.median_ms
        found: JsonObject = {
            "off_s": None if off_ms is None else round(off_ms / 1000, 3),
            "on_s": None if on_ms is None else round(on_ms / 1000, 3),
            "percent": None if row.percent is None else round(row.percent, 2),
            "interval": [round(row.interval.low_percent, 2), round(row.interval.high_percent, 2)]
            if row.interval else None,
            "significant": row.significant, "loads": [len(cell.loads) for cell in row.cells],
            "notes": sorted(note.kind.name for note in notes_on(row))}
        if row.prediction:
            found |= {"handshakes": [*row.prediction.handshakes],
                      "predicted_s": round(row.prediction.predicted_ms / 1000, 3),
                      "paths": [path_of(load) for load in row.off.loads]}
        rows[f"{row.page} at {row.rtt_name}"] = found
    left_out = sorted(str(load.log.relative_to(client)) for load, _ in selection.left_out)
    return {"rows": rows, "headings": [row.url for row in selection.rows if row.rtt_ms == selection.rows[0].rtt_ms],
            "left_out": left_out, "status": 1 if selection.missing else 0}


def path_of(load: LoadResult) -> list[str]:
    """Return a load's critical path, with the steps of one request after each other as one."""
    explanation = explain(load, load.rtt_ms)
    assert explanation is not None
    return [f"{url} {' '.join(f'{step.kind} {step.length_ms:.0f}' for step in steps)}"
            for url, steps in groupby(explanation.steps, key=lambda step: step.url)]


@pytest.mark.parametrize("folder", CLIENTS, ids=lambda folder: folder.name)
def test_the_table_is_the_expected_one(folder: Path, tmp_path: Path) -> None:
    client = folder / "client"
    if not client.is_dir():
        client = tmp_path / "client"
        with tarfile.open(folder / "client.tar.gz") as packed:
            packed.extractall(tmp_path)
    assert table_of(client) == json.loads((folder / "expected.json").read_text())
