"""plot.py as it is typed."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.client_folder import NEWS, add_load, make_client
from tests.support.forked import plot
from tests.support.ran import assert_refused

TRIES = 10
"""A busy machine may look for the figure only when all are drawn."""


def test_a_complete_folder(tmp_path: Path) -> None:
    """Table, figures and report; figures of other runs stay, nothing that was read changes, notes are the students'."""
    make_client(tmp_path / "client")
    (tmp_path / "figures").mkdir()
    for name in ("figures/timing-other-20.png", "observations.txt"):
        (tmp_path / name).write_text("I saw that ...")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = plot(tmp_path, "--clientdir", "client", "--outputdir", "figures", status=0)
    assert done.stderr == """figures/timing-www.news.example-20.png
figures/timing-www.news.example-200.png
figures/timing-blog.example2013post-20.png
figures/timing-blog.example2013post-200.png
figures/report.html
"""         # plain lines: not a terminal
    assert done.stdout.splitlines()[:3] == ["Page\tRTT(ms)\tPLT: no TFO (s)\tPLT: TFO (s)\tImprov.",
                                            "httpwww.news.example", "\t20\t1.062\t1.042\t1.88%"]
    assert "\x1b" not in done.stdout + done.stderr
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after.keys() == before.keys() | {tmp_path / name for name in done.stderr.split()}
    assert after.items() >= before.items()


def test_a_table_that_cannot_be_printed_is_said(tmp_path: Path) -> None:
    make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([ROOT / "plot.py", "--clientdir", "client", "--outputdir", "figures"], cwd=tmp_path,
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "standard output: the disk is full; make room and try again\n")


def test_a_signal_leaves_no_part_of_a_figure(tmp_path: Path) -> None:
    """On Ctrl-C run.sh ends it so, and a hidden file stayed among the figures. SIGINT: tests/system/test_signals.py."""
    make_client(tmp_path / "client")
    for _ in range(TRIES):
        with subprocess.Popen([ROOT / "plot.py", "--clientdir", "client", "--outputdir", "figures"], cwd=tmp_path,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as plotting:
            while plotting.poll() is None and not list(tmp_path.glob("figures/.*.png")):
                time.sleep(0.002)
            plotting.send_signal(signal.SIGTERM)
            said = plotting.communicate()[1]
        if plotting.returncode != 0:
            break
    assert plotting.returncode == -signal.SIGTERM
    assert said.splitlines()[-1] == "stopped by SIGTERM; everything is cleaned up"
    assert "Traceback" not in said
    assert not list(tmp_path.glob("figures/.*"))


def test_details_go_into_the_notes_and_a_missing_cell_is_exit_status_1(tmp_path: Path) -> None:
    client = make_client(tmp_path / "client", delays_ms=[10, 50, 100], urls=[NEWS])
    for run in (1, 2, 3):
        add_load(client, NEWS, 100, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    (tmp_path / "own.txt").write_text("I saw that ...")
    (tmp_path / "notes.txt").symlink_to("own.txt")
    done = plot(tmp_path, "--clientdir", "client", "--outputdir", "figures", "--append", "notes.txt", "--format", "pdf",
                "--detail", status=1)
    table, _, detail = done.stdout.partition("\nPage\tRTT(ms)\tn off\t")
    assert "\t200\t1.602\t-\t-\n" in table
    assert "Not measured: httpwww.news.example at 200 ms with TFO.\n" in table
    assert "timed out after 60 s" not in done.stdout
    assert (tmp_path / "figures" / "report.html").read_text().count("timed out after 60 s") >= 3
    assert "\t20\t3\t3\t1.062\t1.042\t1.0\t1.0\t1.88%\t" in detail
    assert detail.count("\n\nNo prediction: ") == 1
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "improvement-vs-rtt.pdf", "report.html", *(f"timing-www.news.example-{rtt}.pdf" for rtt in (100, 20, 200))]
    assert (tmp_path / "notes.txt").read_text() == f"I saw that ...\n{done.stdout}"


@pytest.mark.parametrize(("arguments", "problem"), [
    (["--clientdir", "none"], "none:1: no such directory; give the folder of client logs with --clientdir"),
    (["--clientdir", "empty"], "empty:1: no page loads in it; measure some first: sudo ./run.sh"),
    (["--clientdir", "client", "--outputdir", "file/figures"], "file/figures"),
    (["--clientdir", "client", "--outputdir", "figures", "--export", "table.xlsx"], "table.xlsx")])
def test_bad_input_is_one_line_and_exit_status_2(tmp_path: Path, arguments: list[str], problem: str) -> None:
    make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    done = plot(tmp_path, *arguments)
    assert_refused(done)
    assert problem in done.stderr
