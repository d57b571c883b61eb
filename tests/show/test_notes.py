"""What is said of single rows of the table, and the second table."""

import random
from pathlib import Path

import pytest

from harness.analysis.intervals import improvement_interval
from harness.analysis.selection import Selection, select
from harness.files.results import Results, read_results
from harness.show.cells import median_deviation_ms
from harness.show.detail import COLUMNS, detail_lines
from harness.show.notes import note_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client

ROOT = Path(__file__).resolve().parent.parent.parent
NEWS_PAGE, POST_PAGE = "httpwww.news.example", "httpblog.example2013post"
TOO_FEW = "Too few runs to be 95% sure of an improvement"


def read(client: Path) -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, "load")


def add_pairs(client: Path, url: str, off_ms: list[float], on_ms: list[float], delaynet_ms: float = 10) -> None:
    for tfo, plts_ms in enumerate((off_ms, on_ms)):
        for run, plt_ms in enumerate(plts_ms, start=1):
            add_load(client, url, delaynet_ms, run, tfo, plt_ms)


def test_nothing_to_say_of_enough_steady_loads(tmp_path: Path) -> None:
    assert list(note_lines(*read(make_client(tmp_path, runs=6)))) == []


def test_three_runs_are_too_few_for_95_percent(tmp_path: Path) -> None:
    line, = note_lines(*read(make_client(tmp_path)))
    assert line.startswith(TOO_FEW)
    assert "from 3 pairs of loads holds the true one in 75% of experiments" in line
    assert line.endswith("--testruns 6.")


def test_one_line_for_each_row_that_needs_a_word(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10, 50], runs=7)
    add_load(client, NEWS, 10, 2, 0, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    add_load(client, NEWS, 10, 3, 1, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    add_load(client, NEWS, 10, 4, 1, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    add_pairs(client, POST, [1000, 1100, 1200, 1000, 1100, 1200], [1050, 1051, 1052, 1053, 1054, 1055], 50)
    title, news, post, few = note_lines(*read(client))
    assert title == "Rows to be careful with:"
    assert news == f"  {NEWS_PAGE} at 20 ms: 5 of 6 loads without TFO valid; 4 of 6 loads with TFO valid"
    assert post.startswith(f"  {POST_PAGE} at 100 ms: spread 8.13% without TFO; not significant: the improvement's 95% "
                           "interval, -")
    assert post.endswith("%, contains 0")
    assert "from 3 pairs" in few


def test_a_row_that_was_not_measured_needs_no_second_word(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=6)
    for run in range(1, 6):
        add_load(client, NEWS, 10, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    assert list(note_lines(*read(client))) == []        # "Not measured" in the footer says it


def test_a_slow_down_can_be_as_sure_as_a_gain(tmp_path: Path) -> None:
    add_pairs(tmp_path, NEWS, [1000, 1001, 1002, 1003, 1004], [1100, 1101, 1102, 1103, 1104])
    assert list(note_lines(*read(tmp_path))) == []
    assert list(detail_lines(*read(tmp_path)))[2].endswith("\tyes")


def test_one_load_each_has_no_interval(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=2)
    assert list(note_lines(*read(client))) == []
    assert list(detail_lines(*read(client)))[2] == "\t20\t1\t1\t1.061\t1.041\t-\t-\t1.89%\t-\t-\t-\t-"


def test_2013_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert list(note_lines(*read(Path("tests/data/2013")))) == []
    rows = [line for line in detail_lines(*read(Path("tests/data/2013"))) if line.startswith("\t")]
    assert len(rows) == 6
    assert all(row.endswith("\t-\t-\t-\t-") for row in rows)


def test_detail_is_the_same_numbers_as_everywhere(tmp_path: Path) -> None:
    off, on = [1000.0, 1020, 990, 1010, 1005, 1100], [900.0, 905, 870, 910, 908, 890]
    add_pairs(tmp_path, NEWS, off, on)
    interval = improvement_interval(off, on)
    assert interval is not None
    header, page, row, empty, *legend = detail_lines(*read(tmp_path))
    assert header.split("\t") == ["Page", *COLUMNS]
    assert (page, empty, len(legend)) == (NEWS_PAGE, "", 3)
    assert row.split("\t")[1:] == ["20", "6", "6", "1.008", "0.902", "10.0", "6.5", "10.42%",
                                   f"{interval.low_percent:.2f}%", f"{interval.high_percent:.2f}%", "6", "yes"]


def test_detail_says_how_sure_few_pairs_are(tmp_path: Path) -> None:
    add_pairs(tmp_path, NEWS, [1000, 1020, 990], [900, 905, 870])
    add_pairs(tmp_path, POST, [1000, 1020, 990, 1000], [1001, 905, 1001, 1002])
    rows = [line.split("\t") for line in detail_lines(*read(tmp_path)) if line.startswith("\t")]
    assert [row[-1] for row in rows] == ["no (88%)", "yes (75%)"]


def test_tabs_align_the_columns(tmp_path: Path) -> None:
    """Each cell is under 8 characters wide, where a tab takes the next one to; the last may be longer."""
    generator = random.Random(3)
    for place, (low, high) in enumerate([(100, 200), (20_000, 59_000)]):
        off, on = ([generator.uniform(low, high) for _ in range(12)] for _ in range(2))
        add_pairs(tmp_path, NEWS, off, on, 10 * (place + 1))
    rows = [line for line in detail_lines(*read(tmp_path)) if "\t" in line]
    assert len(rows) == 3
    assert max(len(cell) for row in rows for cell in row.split("\t")[:-1]) < 8


def test_median_deviation() -> None:
    assert median_deviation_ms([]) is None
    assert median_deviation_ms([5]) is None
    assert median_deviation_ms([1, 2, 3, 4, 1000]) == 1     # unlike a standard deviation, it does not see the outlier


def test_a_cell_with_a_single_load_beside_fuller_ones_is_named(tmp_path: Path) -> None:
    add_pairs(tmp_path, NEWS, [1000, 1001, 1002], [900])
    lines = list(note_lines(*read(tmp_path)))
    assert any("a single load with TFO (n = 1): nothing tells whether something disturbed it" in line for line in lines)
    assert not any("a single load without TFO" in line for line in lines)
