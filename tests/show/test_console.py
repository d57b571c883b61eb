"""What is printed under the table: at most ten lines; and the cells in a file (plot.py --export)."""

import csv
import json
from pathlib import Path

import pytest

from harness.analysis.improvement import improvements
from harness.analysis.selection import METRICS, select
from harness.files.results import attempt_directory, read_results
from harness.show.console import MOST_LINES, RUN_LOG, format_console, summary_lines
from harness.show.export import export
from harness.show.notes import NoteKind, notes_on
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.plotted import plot

DATA = Path(__file__).parent.parent / "data"
CLIENTS = sorted((Path(__file__).parent.parent / "corpus" / "clients").glob("*/client"))


def lines_of(client: Path, metric: str = "load") -> list[str]:
    results = read_results(client)
    return list(summary_lines(results, select(results, metric)))


@pytest.mark.parametrize("client", [*CLIENTS, DATA / "2013"], ids=lambda client: client.parent.name)
def test_it_is_at_most_ten_lines_whatever_the_folder_holds(client: Path) -> None:
    assert len(lines_of(client)) <= MOST_LINES


def make_worst(client: Path) -> Path:
    """Everything at once that a line can say: three RTTs, tries made again, failures, another experiment, no HAR."""
    make_client(client, delays_ms=[10, 50, 100], runs=3, busy=["stress"], cookies="cold", id="newer")
    for run in (1, 2):
        for tfo in (0, 1):
            for delay_ms in (10, 50, 100):
                add_load(client, NEWS, delay_ms, run, tfo, 1000 + 300 * run - tfo, experiment="newer")
        add_load(client, POST, 10, run, 1, None, valid=False, why_not=["timed out"], experiment="newer")
    made = add_load(client.parent / "first", NEWS, 10, 1, 0, 9000, valid=False, why_not=["SYN retransmitted: 2"],
                    experiment="newer")
    made.parent.rename(attempt_directory(client / made.parent.name, 1))
    (client / "10-1-tfo-0" / "httpwww.news.example").write_text("nonsense")
    return client


@pytest.mark.parametrize("metric", METRICS)
def test_the_worst_folder_has_ten_lines_too(tmp_path: Path, metric: str) -> None:
    lines = lines_of(make_worst(tmp_path / "client"), metric)
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) < 500


def test_what_was_made_again_is_one_line_with_true_counts(tmp_path: Path) -> None:
    lines = lines_of(make_worst(tmp_path / "client"))
    [again] = [line for line in lines if line.endswith(f": {RUN_LOG}")]
    assert again.startswith("1 of 14 loads ")


def test_the_table_comes_first(tmp_path: Path) -> None:
    results = read_results(make_client(tmp_path, delays_ms=[10], urls=[NEWS]))
    assert format_console(results, select(results, "load")).splitlines()[2:4] == ["\t20\t1.062\t1.042\t1.88%", ""]


@pytest.mark.parametrize("kind", NoteKind)
def test_every_kind_of_note_is_on_the_console_or_in_the_report_alone(kind: NoteKind) -> None:
    assert kind.on_console == (kind.name not in {"LEFT_OUT", "SINGLE_LOAD", "WIDE_SPREAD", "WAITED"})


def test_only_rows_that_are_not_what_they_look_like_are_named(tmp_path: Path) -> None:
    """One whose loads differ by much has a note in the report alone."""
    for run in range(1, 8):
        for tfo, delay_ms in ((0, 10), (1, 10), (0, 50), (1, 50)):
            add_load(tmp_path, NEWS, delay_ms, run, tfo, 1000 + 60 * run - (500 if delay_ms == 10 else 0) * tfo)
    results = read_results(tmp_path)
    selection = select(results, "load")
    kinds = [{note.kind for note in notes_on(results, selection, row)} for row in improvements(results, selection)]
    assert all(NoteKind.WIDE_SPREAD in found for found in kinds)
    [line] = [line for line in lines_of(tmp_path) if line.startswith("Not sure: ")]
    assert [f"httpwww.news.example at {rtt} ms" in line for rtt in (20, 100)] == [False, True]


def test_export_has_the_tables_numbers_in_all_formats(tmp_path: Path) -> None:
    make_client(tmp_path / "client", delays_ms=[10, 50])
    for ending in ("csv", "json", "md"):
        done = plot(tmp_path, "--clientdir", "client", "--outputdir", "figures", "--export", f"table.{ending}")
        assert done.returncode == 0
    cells = json.loads((tmp_path / "table.json").read_text())["cells"]
    assert len(cells) == 4
    known = {key: cells[0][key] for key in ("rtt_ms", "metric", "n_off", "n_on", "median_off_ms", "median_on_ms",
                                            "improvement_percent", "pairs", "left_out_on")}
    assert known == {"rtt_ms": 20, "metric": "load", "n_off": 3, "n_on": 3, "median_off_ms": 1062,
                     "median_on_ms": 1042, "improvement_percent": 1.883, "pairs": 3, "left_out_on": 0}
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [list(cell) for cell in cells]
    assert [float(row["median_on_ms"]) for row in rows] == [cell["median_on_ms"] for cell in cells]
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert len(lines) == 2 + len(cells)
    assert len({line.count(" | ") for line in lines}) == 1


def test_export_of_what_was_not_measured_is_unknown_and_not_0(tmp_path: Path) -> None:
    results = read_results(make_worst(tmp_path / "client"))
    export(results, select(results, "load"), tmp_path / "table.json")
    cells = json.loads((tmp_path / "table.json").read_text())["cells"]
    [missing] = [cell for cell in cells if cell["n_on"] == 0 and cell["left_out_on"]]
    assert [missing[key] for key in ("median_on_ms", "improvement_percent", "low_percent", "significant")] == [None] * 4


def test_an_export_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2)
    done = plot(tmp_path, "--clientdir", "client", "--outputdir", "figures", "--export", "table.xlsx")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert not (tmp_path / "figures").exists()


def test_paints_are_metrics_of_their_own(tmp_path: Path) -> None:
    """A load that Chrome gave no paint of does not count by that metric, and no other time stands for it."""
    for tfo in (0, 1):
        for run in (1, 2):
            add_load(tmp_path, NEWS, 10, run, tfo, 1000, fcp_ms=400 - 20 * tfo,
                     lcp_ms=None if (run, tfo) == (2, 1) else 800 - 40 * tfo)
    results = read_results(tmp_path)
    tables = {metric: format_console(results, select(results, metric)).splitlines()[2] for metric in METRICS}
    assert tables["fcp"] == "\t20\t0.400\t0.380\t5.00%"
    assert tables["lcp"] == "\t20\t0.800\t0.760\t5.00%"
    assert [load.run for load, _ in select(results, "lcp").left_out] == [2]
