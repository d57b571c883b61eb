"""A site's own recording, cut out of one that holds several, and what is said where there is none."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.resume import recording_digest
from harness.mirror.importing import complete
from harness.mirror.manifest import damage
from harness.mirror.recording import read_recording
from harness.mirror.servers import recorded_rtts
from harness.sweep import recordings
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import SITE, write_files
from harness.sweep.recordings import files_of, planned, record_missing
from tests.support.made_units import VERSIONS
from tests.support.recording import MadeRecording

ONE, TWO = "http://one.test/", "http://two.test/"


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    """Give a sweep beside a recording of two pages, one of which uses a second host."""
    mirror = MadeRecording(tmp_path, "both", har=False)
    for url in (ONE, "http://img.one.test/a.png", TWO, f"{TWO}b.css"):
        mirror.add(url, f"body of {url}")
    mirror.finish(ONE, TWO)
    (tmp_path / "both.rtts").write_text("# by hand\none.test 20\nimg.one.test 35.5\ntwo.test 80\nin-no-log.test 5\n")
    (tmp_path / "both" / "in-no-log.test").mkdir()
    (tmp_path / "both" / "in-no-log.test" / "x.js").write_text("asked for by today's browser")
    made = SweepFolder(tmp_path, "x")
    made.make()
    return made


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_site_gets_its_own_hosts_and_answers_as_before_also_where_it_arrives(
        sweep: SweepFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = PageFiles(tmp_path, "both")
    first, second = record_missing(sweep, both.pages)
    assert capsys.readouterr().out == f"[  1/2] {ONE}: cut out of both\n[  2/2] {TWO}: cut out of both\n"
    assert names_in(sweep.recordings / second.page.name / SITE) == ["in-no-log.test", "two.test"]
    [made, _] = planned([first, first], [()], VERSIONS)
    write_files(tmp_path / "elsewhere", files_of(sweep, made))
    files = PageFiles(tmp_path / "elsewhere", SITE)
    assert recording_digest(files) == made.recording
    assert names_in(files.mirror) == ["img.one.test", "in-no-log.test", "one.test"]
    whole, alone = (read_recording(each.mirror, each.fetchlog) for each in (both, files))
    assert alone.manifest == whole.manifest
    assert recorded_rtts(files, alone).rtts_ms == {"one.test": 20, "img.one.test": 35.5, "in-no-log.test": 5}
    assert alone.exact_url("http://img.one.test/a.png") == whole.exact_url("http://img.one.test/a.png") != ()
    assert record_missing(sweep, both.pages) == [first, second], "and are not cut again"
    assert capsys.readouterr().out == ""


def test_a_site_has_its_own_list_of_bodies_and_a_spoilt_one_stands_alone(sweep: SweepFolder, tmp_path: Path) -> None:
    both = PageFiles(tmp_path, "both")
    (both.mirror / "two.test" / "of_no_log.js").write_text("1")
    complete(both.fetchlog, both.mirror, "recorded", {"pages": []})
    (both.mirror / "two.test" / "index.html").write_text("another page")
    first, second = record_missing(sweep, both.pages)
    files = PageFiles(sweep.recordings / first.page.name, SITE)
    bodies = read_recording(files.mirror, files.fetchlog).bodies
    assert {name.partition("/")[0] for name in bodies} == {"one.test", "img.one.test", "in-no-log.test"}
    assert (first.why_not, damage(bodies, files.mirror)) == ("", "")
    assert second.why_not.startswith("1 of 4 bodies of both/ is not as recorded, first two.test/index.html")


def test_a_site_that_cannot_be_copied_leaves_the_others(sweep: SweepFolder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "both" / "img.one.test" / "fifo")
    first, second = record_missing(sweep, tmp_path / "both.pages")
    assert "img.one.test/fifo" in first.why_not
    assert second.why_not == ""


@pytest.mark.parametrize(("program", "why"), [
    ("sys.exit(0)", ""),
    ("print('    no reason'); print('no Chrome'); sys.exit(2)", "cannot be recorded: no Chrome"),
    ("verdict.write_text('[{\"reasons\": [\"it is\\\\ngone\", \"and more\"]}]'); print('last'); sys.exit(1)",
     "cannot be recorded: it is\ngone")])
def test_the_verdict_says_why_there_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str,
                                                    why: str) -> None:
    """A reason may have any words in it; what fetch.py could not begin with is its last line."""
    (tmp_path / "fetch.py").write_text(
        f"import pathlib, sys\nverdict = pathlib.Path(sys.argv[sys.argv.index('--verdict') + 1])\n{program}")
    monkeypatch.setattr(recordings, "ROOT", tmp_path)
    with pytest.raises(InputError) if why else nullcontext() as refused:
        recordings.fetch(tmp_path)
    assert why == (str(refused.value) if refused else "")


def test_a_page_of_the_same_file_name_gets_no_other_pages_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                    ) -> None:
    """The list named http://a.test/b/c before, and names http://a.test/bc now: its row had the other page's numbers."""
    fetched: list[str] = []

    def fetch(folder: Path) -> None:
        url = PageFiles(folder, SITE).pages.read_text().strip()
        fetched.append(url)
        mirror = MadeRecording(folder, SITE, har=False)
        mirror.add(url, url)
        mirror.finish(url)
        if url.endswith("gone"):
            raise InputError("it is gone")
    monkeypatch.setattr(recordings, "fetch", fetch)
    sweep = SweepFolder(tmp_path, "x")
    sweep.make()
    pages = tmp_path / "list.pages"
    listed = [f"http://a.test/{path}" for path in ("b/c", "bc", "go/ne", "gone", "go/ne")]
    for url in listed:
        pages.write_text(f"{url}\n")
        for _ in range(2):
            [found] = record_missing(sweep, pages)
            assert found.page.url == url
            assert bool(found.why_not) == url.endswith("gone")
    assert fetched == listed


def test_a_full_disk_is_no_pages_fault(sweep: SweepFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "cut", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match=f"Errno {errno.ENOSPC}"):
        record_missing(sweep, tmp_path / "both.pages")
    assert names_in(sweep.recordings) == []
