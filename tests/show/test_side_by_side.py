"""Several folders of results as one table."""

from pathlib import Path

from harness.analysis.layouts import own_names
from harness.analysis.selection import select
from harness.bootstrap import ROOT
from harness.files.experiment import write_experiment
from harness.files.results import read_results
from harness.show.side_by_side import Measured, side_by_side_lines, side_by_side_rows
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.forked import typed


def measured(client: Path) -> Measured:
    results = read_results(client)
    return client.name, results, select(results, "load")


def test_the_same_page_over_http_and_https_stands_together(tmp_path: Path) -> None:
    plain, secure = tmp_path / "plain", tmp_path / "tls-h2-predict"
    for run in (1, 2, 3):
        for tfo, plt_ms in ((0, 1000 + run), (1, 900 + run)):
            add_load(plain, NEWS, 50, run, tfo, plt_ms, connections_with_request=7 + run)
            add_load(secure, NEWS.replace("http:", "https:"), 50, run, tfo, 2 * plt_ms)
    lines = list(side_by_side_lines(side_by_side_rows([measured(plain), measured(secure)])))
    assert lines[1:4] == [
        NEWS.partition("//")[2],
        "\t100\tplain          \t3, 3\t9\t-\t1.002\t0.902\t0.100\t9.98%\t9.97%\t9.99%",
        "\t100\ttls-h2-predict \t3, 3\t-\t-\t2.004\t1.804\t0.200\t9.98%\t9.97%\t9.99%"]


def test_what_a_folder_lacks_is_no_row_or_a_dash_and_the_status_says_so(tmp_path: Path) -> None:
    program = ROOT / "experiments" / "side_by_side.py"
    whole, part = (make_client(tmp_path / name, delays_ms) for name, delays_ms in (("whole", [10, 50]), ("part", [50])))
    figure = tmp_path / "beside.png"
    done = typed(program, whole, part, "--output", figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "no format of figures" in typed(program, whole, "--output", tmp_path / "beside.doc").stderr
    assert (done.returncode, done.stdout.count("\twhole"), done.stdout.count("\tpart")) == (0, 4, 2)
    write_experiment(part, 50, {"name": "Paper", "pages": [NEWS, POST, "http://c.test"], "http": "1.0", "tfo": "both"})
    done = typed(program, whole, part)
    assert (done.returncode, "\t0, 0\t-\t-\t-\t-\t-\t-\t-\t-" in done.stdout) == (1, True)
    done = typed(program, tmp_path / "nowhere")
    assert (done.returncode, "no such folder" in done.stderr) == (2, True)


def test_pages_that_no_load_tells_the_url_of_go_by_their_files_names(tmp_path: Path) -> None:
    """Of crashed loads, without the experiment's file: both pages stood under one empty heading."""
    for page in ("httpa.org", "httpb.org"):
        for tfo in (0, 1):
            (tmp_path / f"50-1-tfo-{tfo}").mkdir(exist_ok=True)
            (tmp_path / f"50-1-tfo-{tfo}" / page).write_text("Segmentation fault (core dumped)\n")
    lines = list(side_by_side_lines(side_by_side_rows([measured(tmp_path)])))
    assert [line for line in lines[1:lines.index("")] if not line.startswith("\t")] == ["httpa.org", "httpb.org"]


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    """Of two client/ the rows had one name, and the figure drew the bars of both in one place."""
    mine, yours = (make_client(tmp_path / name / "client", [50]) for name in ("mine", "yours"))
    done = typed(ROOT / "experiments" / "side_by_side.py", mine, yours)
    assert [done.stdout.count(f"\t{name}/client") for name in ("mine", "yours")] == [2, 2]
    assert own_names([mine, mine.parent]) == ["client", "mine"]
    assert own_names([tmp_path / "a" / "x" / "client", tmp_path / "b" / "x" / "client"]) == [
        f"{tmp_path}/a/x/client", f"{tmp_path}/b/x/client"]


def test_an_rtt_that_stands_for_several_is_called_so(tmp_path: Path) -> None:
    recorded = make_client(tmp_path / "recorded", [50], server_rtts_ms={"www.news.example": 12, "blog.example": 180})
    lines = list(side_by_side_lines(side_by_side_rows([measured(recorded)])))
    assert lines[2].startswith("\trecorded 12-180\trecorded")


def test_a_figure_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    done = typed(ROOT / "experiments" / "side_by_side.py", make_client(tmp_path / "one", [50]), "--output",
                 tmp_path / "nowhere" / "beside.png")
    assert (done.returncode, done.stderr.count("\n"), done.stdout.count("\tone")) == (2, 1, 2), done.stderr
