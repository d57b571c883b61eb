"""Answers that were not recorded for their request: counted under the table, marked, named in figures.

What a page got is in answers.jsonl, beside its row in the table of answers: five counts, what was received, and a
list of URLs; none where all was as recorded. `marked`: so is its improvement, and the prediction names the URL.
`TFO_LAB_WRITE_CORPUS=1` writes what is said anew.
"""

import json
from pathlib import Path
from typing import Any

from harness.show.breakdown import draw_breakdown
from harness.show.columns import MARK, text_of
from harness.show.improvement import prediction_section
from harness.show.report.evidence import answers_table
from harness.show.waterfall import draw_requests
from tests.support.client_folder import add_load, selected
from tests.support.made_har import PAGE, chain
from tests.support.noted import of_lines

SCRIPT, ASIDE = "http://host1.test/s.js", "http://aside.test/i.gif"
URLS = (PAGE, SCRIPT, ASIDE)


def add(client: Path, stand_ins: tuple[str, ...] = (), **case: Any) -> None:
    """Write loads without and with TFO: a document, a script that the load event waits for, an image beside them.

    The URLs in `stand_ins` were answered by stand-ins. `script` is what else is known of the answer to the script,
    `more` are other answers, `counts` all counts that differ; `covers` are what each run got of what was recorded.
    """
    each = [{"url": url, "kind": "stand-in" if url in stand_ins else "exact", "critical": url != ASIDE,
             **(case.get("script", {}) if url == SCRIPT else {})} for url in URLS]
    answers = {"exact": len(URLS) - len(stand_ins), "stand_in": len(stand_ins), "missing": 0, "failed": 0,
               **case.get("counts", {}), "each": [*each, *case.get("more", [])]}
    for run, cover in enumerate(case.get("covers", [None, None]), start=1):
        for tfo in (0, 1):
            made = add_load(client, PAGE, 50, run, tfo, 1000, answers={**answers, "coverage": cover and dict(
                zip(("recorded", "recorded_bytes", "got", "got_bytes"), cover, strict=True))})
            made.with_suffix(".har").write_text(json.dumps({"log": chain(2).written()}))


@of_lines("show/answers.jsonl")
def test_its_row_is_the_one_beside_it_and_marked_on_the_critical_path(case: dict[str, Any], tmp_path: Path
                                                                      ) -> dict[str, Any]:
    add(tmp_path, **{name: value for name, value in case.items() if name not in ("what", "is")})
    selection = selected(tmp_path)
    marked = text_of(selection.rows[0], "improvement, marked").endswith(MARK)
    named = [line for line in prediction_section(selection).words if "On the critical path" in line]
    assert [SCRIPT in line for line in named] == [True] * marked
    if marked:
        figures = [draw_requests(selection.rows[0]), draw_breakdown(selection.rows)]
        assert all(figure and SCRIPT in figure.get_supxlabel() for figure in figures)
    row = [cell for _, rows in answers_table(selection).groups for row in rows for cell in row[1:]]
    return {"is": {"row": row, "marked": marked}}
