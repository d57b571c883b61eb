"""Two loads of a page beside its shape: ``shapes.jsonl``, a page a line (tests/support/rows.py).

`near` is the load without delay, `far` the one over a round trip; `shape` has the lines of the page-shape file.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.synthetic.measured import LoadDetails, make_shape
from harness.synthetic.shape import format_shapes
from tests.support.made_har import PAGE
from tests.support.rows import timeline_of

PAGES = [json.loads(line) for line in (Path(__file__).parent / "shapes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["what"])
def test_its_shape_is_the_one_beside_it(page: dict[str, Any]) -> None:
    details = LoadDetails(page.get("texts", {}), page.get("loading_ms"))
    shape = make_shape(PAGE, "2026-11", timeline_of(page["near"]), timeline_of(page["far"]), details)
    assert [line for line in format_shapes([shape]).splitlines() if line[0] not in "#f"] == page["shape"]
