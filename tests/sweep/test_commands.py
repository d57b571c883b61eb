"""What sweep.py does besides sweeping, and what it says."""

import csv
import os
from argparse import Namespace
from pathlib import Path

import pytest

from harness.errors import ExperimentError
from harness.files.pages import read_pages
from harness.sweep import commands, recordings
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings, make_parser
from harness.sweep.recordings import record_missing
from harness.sweep.tally import Tally
from tests.support.made_units import VERSIONS


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    """Give a sweep of two pages, of which none has been tried yet."""
    (tmp_path / "list.pages").write_text("http://one.test/\nhttp://two.test/\n")
    made = SweepFolder(tmp_path, "x")
    made.make()
    made.write_asked(SweepSettings(tmp_path / "list.pages", (10.0,), ((),), VERSIONS).to_json())
    return made


def test_a_report_has_the_pages_that_were_not_tried_yet(folder: SweepFolder) -> None:
    assert commands.report(make_parser("").parse_args(["--report", "x", "--dir", str(folder.path.parent)])) == 0
    assert "The list list.pages has 2 pages, 0 of which" in (folder.path / "report.html").read_text()
    with (folder.path / "sites.csv").open(newline="") as table:
        assert [(row["url"], row["status"]) for row in csv.DictReader(table)] == [
            ("http://one.test/", "not measured yet"), ("http://two.test/", "not measured yet")]


def test_status_says_how_far_the_recordings_are(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    pages = read_pages(folder.path.parent / "list.pages")
    options = Namespace(dir=folder.path.parent, status="x")

    def fetch(_: Path) -> str:
        assert commands.status(options) == 1
        return "it is gone"
    monkeypatch.setattr(recordings, "fetch", fetch)
    assert commands.status(options) == 1
    record_missing(folder, pages, {}, lambda _: None)
    folder.write_progress({"sites": 3, "done": 2, "failed": 1, "partly": 0, "left_s": 70})
    assert commands.status(options) == 1
    assert capsys.readouterr().out.splitlines() == [f"sweep-x: not running; {how_far}" for how_far in (
        "no site is measured yet",
        "recordings of 0 of 2 pages done, no site is measured yet",
        "recordings of 1 of 2 pages done, no site is measured yet",
        "2 of 3 sites done, 1 of them failed, 0 partly measured")]


def test_a_sweep_that_does_not_end_is_not_called_stopped(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ENDING_S", 0.1)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    with folder.only_driver(), pytest.raises(ExperimentError, match=r"has not ended 0.1 s after it was told to \(pid"):
        commands.halt(Namespace(dir=folder.path.parent, stop="x"))


def test_the_summary_does_not_deny_what_a_second_machine_did(capsys: pytest.CaptureFixture[str]) -> None:
    """Some sites were measured there, perhaps: the tally counts only those that were not."""
    commands.summarise(Tally(total=20, done=20, measured=20, seconds_left=1), [])
    assert "1 sites were to be measured on a second machine, too, and none was there for them: how far machines " \
           "agree on these is not known" in capsys.readouterr().out


def test_a_finished_sites_line_counts_the_failures() -> None:
    assert commands.with_failures("http://one.test/: measured", Tally(done=3)) == "http://one.test/: measured"
    assert commands.with_failures("http://one.test/: measured", Tally(done=3, failed=2)) == \
        "http://one.test/: measured; 2 failed so far"
