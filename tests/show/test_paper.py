"""Table 1 of the paper beside ours: the figures, the difference, and when it is left out."""

from pathlib import Path
from typing import Any

import pytest

from harness.analysis.stats import improvement_percent
from harness.show.paper import TABLE_1, paper_lines
from tests.support.beside import cases
from tests.support.client_folder import make_client, selected


@pytest.mark.parametrize("case", cases(__file__, "paper.jsonl"), ids=lambda case: case.pop("what"))
def test_what_stands_under_the_head(case: dict[str, Any], tmp_path: Path) -> None:
    """paper.jsonl: how a folder is made, and the lines that are given; null for any."""
    wanted = case.pop("lines")
    found = [*paper_lines(selected(make_client(tmp_path, **case)))]
    assert len(found) == len(wanted) + 2 * bool(wanted)
    assert [line for line, known in zip(found[2:], wanted, strict=True) if known] == [*filter(None, wanted)]


def test_the_papers_improvements_are_those_that_it_prints() -> None:
    """Table 1 gives them as whole percentages, which pins down its times."""
    printed = {"amazon.com": (4, 10, 11), "nytimes.com": (4, 6, 18), "wsj.com": (5, 6, 11),
               "wikipedia.org": (7, 16, 41)}
    for site, rows in TABLE_1.items():
        for (off_s, on_s), percent in zip(rows.values(), printed[site], strict=True):
            assert improvement_percent(off_s, on_s) == pytest.approx(percent, abs=0.6), site
