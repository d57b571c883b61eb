"""What sweep.py does besides sweeping, and what it says."""

import csv
from argparse import Namespace
from pathlib import Path

import pytest

from harness.sweep import commands
from harness.sweep.folder import SweepFolder
from harness.sweep.options import Asked
from tests.support.made_units import VERSIONS


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    """Give a sweep of two pages, of which none has been tried yet."""
    (tmp_path / "list.pages").write_text("http://one.test/\nhttp://two.test/\n")
    made = SweepFolder(tmp_path, "x")
    made.make()
    made.write_asked(Asked(tmp_path / "list.pages", (10.0,), ((),), VERSIONS).to_json())
    return made


def test_a_report_has_the_pages_that_were_not_tried_yet(folder: SweepFolder) -> None:
    assert commands.report(Namespace(dir=folder.path.parent, report="x")) == 0
    assert "The list list.pages has 2 pages, 0 of which" in (folder.path / "report.html").read_text()
    with (folder.path / "sites.csv").open(newline="") as table:
        assert [(row["url"], row["status"]) for row in csv.DictReader(table)] == [
            ("http://one.test/", "not measured yet"), ("http://two.test/", "not measured yet")]
