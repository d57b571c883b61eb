"""Loads of one page, made by code, beside all that is said of its rows: ``made_rows.jsonl``.

`loads` are by RTT in ms, then "off" and "on": each run's page load time in ms, null for a run that does not count; or
[awaited, late, polls, cached], for how many answers its load event waited, how many came after it, how many of them
scripts read, and whether Chrome's cache gave these. Of each row there are its cells in the table, in --detail, whether
its improvement is significant and helps, its notes by kind, and the answers awaited where they differ by much;
`from_ms` is from which RTT on TFO matters, and what is said of that.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_made_rows.py`` writes what is said anew.
"""

from pathlib import Path

from harness.analysis.row import Row, threshold
from harness.show.columns import texts
from harness.show.console import COLUMNS
from harness.show.improvement import COLUMNS as DETAIL
from harness.show.improvement import threshold_lines
from harness.show.row_notes import notes_on
from tests.support.client_folder import NEWS, add_load, selected
from tests.support.made_record import made_answers
from tests.support.noted import JsonObject, of_lines


def answers_of(awaited: int, late: int, polls: int, cached: int) -> JsonObject:
    found = made_answers(*(f"{NEWS}/{number}" for number in range(awaited)))
    found["each"] += made_answers(*(f"{NEWS}/late{number}" for number in range(late)), late=True)["each"]
    found["each"] += made_answers(*(f"{NEWS}/poll{number}" for number in range(polls)), purpose="data")["each"]
    return {**found, "from_cache": [f"{NEWS}/poll0"] * cached}


def of_row(row: Row) -> JsonObject:
    return {"table": " ".join(texts(row, COLUMNS)), "detail": " ".join(texts(row, DETAIL)[1:]),
            "significant": row.significant, "helps": row.helps, "notes": [note.kind.name for note in notes_on(row)],
            "awaited": row.race and [*row.race]}


@of_lines("corpus/made_rows.jsonl")
def test_its_rows_are_those_beside_it(case: JsonObject, tmp_path: Path) -> JsonObject:
    for rtt_ms, sides in case["loads"].items():
        for tfo, side in enumerate(("off", "on")):
            for run, load in enumerate(sides[side], start=1):
                more: JsonObject = {} if load else {"valid": False, "why_not": ["broken"]}
                if counts := load if isinstance(load, list) else ():
                    more = {"answers": answers_of(*counts)}
                add_load(tmp_path, NEWS, float(rtt_ms) / 2, run, tfo, 1000 if counts else load, **more)
    selection = selected(tmp_path)
    first = threshold(selection.rows)
    return {"is": {"rows": [*map(of_row, selection.rows)],
                   "from_ms": [first and first.rtt_ms, *[*threshold_lines(selection)][1:2]]}}
