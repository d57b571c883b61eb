"""What plot.py prints: the table, at most ten lines under it, the tables of --detail; and the cells in a file."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.row import METRICS
from harness.analysis.stats import improvement_percent
from harness.files.results import attempt_directory
from harness.show.columns import export, export_rows
from harness.show.console import MOST_LINES, RUN_LOG, TABLE_1, main_table, paper_lines, summary_lines
from harness.show.improvement import improvement_section
from harness.show.section import section_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client, selected
from tests.support.noted import of_lines


def lines_of(client: Path, metric: str = "load") -> list[str]:
    return list(summary_lines(selected(client, metric)))


def test_each_metric_is_a_time_of_its_own(tmp_path: Path) -> None:
    """A load that Chrome gave no paint of does not count by that metric, and no other time stands for it."""
    for run, tfo in product((1, 2), (0, 1)):
        add_load(tmp_path, NEWS, 10, run, tfo, 1000, fcp_ms=400 - 20 * tfo,
                 lcp_ms=None if (run, tfo) == (2, 1) else 800 - 40 * tfo)
    assert [[*main_table(selected(tmp_path, metric))][2] for metric in METRICS] == [
        f"\t20\t{cells}" for cells in ("1.000\t1.000\t0.00%", "1.100\t1.100\t0.00%", "0.400\t0.380\t5.00%",
                                      "0.800\t0.760\t5.00%")]
    assert [load.run for load, _ in selected(tmp_path, "lcp").left_out] == [2]


@pytest.fixture(scope="module")
def worst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything at once that a line can say: three RTTs, tries made again, failures, another experiment, no HAR."""
    client = make_client(tmp_path_factory.mktemp("worst") / "client", delays_ms=[10, 50, 100], runs=3, busy=["stress"],
                         cookies="cold", id="newer")
    for run, tfo, delay_ms in product((1, 2), (0, 1), (10, 50, 100)):
        add_load(client, NEWS, delay_ms, run, tfo, 1000 + 300 * run - tfo, experiment="newer")
        add_load(client, POST, 10, run, 1, None, valid=False, why_not=["timed out"], experiment="newer")
    made = add_load(client.parent / "first", NEWS, 10, 1, 0, 9000, why_not=["SYN retransmitted: 2"], experiment="newer")
    made.parent.rename(attempt_directory(client / made.parent.name, 1))
    (client / "10-1-tfo-0" / "httpwww.news.example").write_text("nonsense")
    return client


def test_the_worst_folder_has_ten_lines_too_one_of_them_for_what_was_made_again(worst: Path) -> None:
    for lines in (lines_of(worst, metric) for metric in METRICS):
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) < 500
        assert [line[:13] for line in lines if line.endswith(f": {RUN_LOG}")] == ["1 of 14 loads"]


def test_only_rows_that_are_not_what_they_look_like_are_named(tmp_path: Path) -> None:
    """One whose loads differ by much has a note in the report alone."""
    for run, tfo, delay_ms in product(range(1, 8), (0, 1), (10, 50)):
        add_load(tmp_path, NEWS, delay_ms, run, tfo, 1000 + 60 * run - (500 if delay_ms == 10 else 0) * tfo)
    [line] = [line for line in lines_of(tmp_path) if line.startswith("Not sure: ")]
    assert [f"httpwww.news.example at {rtt} ms" in line for rtt in (20, 100)] == [False, True]


def test_export_has_the_tables_numbers_in_all_formats_and_not_0_for_what_is_not_known(tmp_path: Path, worst: Path,
                                                                                      ) -> None:
    selection = selected(make_client(tmp_path / "client", delays_ms=[10, 50]))
    in_csv, in_json, in_markdown = (tmp_path / f"table.{ending}" for ending in ("csv", "json", "md"))
    for path in (in_csv, in_json, in_markdown):
        export(selection, path)
    cells = json.loads(in_json.read_text())["cells"]
    assert cells[0] == {
        "page": "httpwww.news.example", "url": NEWS, "rtt_ms": 20, "rtt": "20", "metric": "load", "n_off": 3, "n_on": 3,
        "left_out_off": 0, "left_out_on": 0, "median_off_ms": 1062, "median_on_ms": 1042, "improvement_percent": 1.883,
        "low_percent": 1.881, "high_percent": 1.885, "pairs": 3, "significant": True, "predicted_on_ms": None,
        "notes": []}
    lines = [len(path.read_text().splitlines()) for path in (in_csv, in_markdown)]
    assert (len(cells), *lines) == (4, 1 + 4, 2 + 4)
    [missing] = [cell for cell in export_rows(selected(worst)) if cell["n_on"] == 0 and cell["left_out_on"]]
    assert [missing[key] for key in ("median_on_ms", "improvement_percent", "low_percent", "significant")] == [None] * 4


def test_an_rtt_that_stands_for_several_has_one_name_everywhere(tmp_path: Path) -> None:
    make_client(tmp_path / "client", delays_ms=[10, 50], urls=[NEWS])
    client = make_client(tmp_path / "client", delays_ms=[20], rtt="recorded*2", rtts_assumed=["c.test"],
                         server_rtts_ms={"a.test": 12.3, "b.test": 40, "c.test": 180.4, "d.test": 40})
    name = "recorded 12-180"
    for path in client.glob("20-*-tfo-1/httpblog*"):
        path.unlink()
    selection = selected(client)
    for lines in (main_table(selection), section_lines(improvement_section(selection))):
        assert [line.split("\t")[1] for line in lines if line.startswith("\t")] == ["20", name, "100"] * 2
    assert sum(f"httpblog.example2013post at {name} ms" in line for line in summary_lines(selection)) == 1


@of_lines("show/paper.jsonl")
def test_what_stands_under_the_head(case: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """paper.jsonl: how a folder is made, and the lines."""
    made = make_client(tmp_path, **{name: value for name, value in case.items() if name not in ("what", "lines")})
    found = [*paper_lines(selected(made))]
    return {"lines": found[2:] if len(found) > 2 else found}


def test_the_papers_improvements_are_those_that_it_prints() -> None:
    """Table 1 gives them as whole percentages, which pins down its times."""
    printed = {"amazon.com": (4, 10, 11), "nytimes.com": (4, 6, 18), "wsj.com": (5, 6, 11),
               "wikipedia.org": (7, 16, 41)}
    for site, rows in TABLE_1.items():
        for (off_s, on_s), percent in zip(rows.values(), printed[site], strict=True):
            assert improvement_percent(off_s, on_s) == pytest.approx(percent, abs=0.6), site
