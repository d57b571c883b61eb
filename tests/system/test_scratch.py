"""Files that are whole or not there, also between file systems; a folder that is gone at the end, or swept later."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.atomic import move
from harness.system.scratch import LOCK, sweep, temporary_directory

HOLD = """from harness.system.scratch import temporary_directory
import time
with temporary_directory() as directory:
    print(directory, flush=True)
    time.sleep(60)"""


def test_what_a_killed_experiment_left_is_swept_by_the_next_and_a_running_one_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().strip())
        (directory / "profile").mkdir()
        (directory / "profile" / "file").write_text("x")
        with temporary_directory():
            assert directory.is_dir(), "it runs"
        process.send_signal(signal.SIGKILL)
    assert directory.is_dir(), "nobody cleans up after SIGKILL"
    with temporary_directory():
        assert not directory.exists()


@pytest.mark.root
def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    without_lock, locked_by_link, of_another, ended = (tmp_path / f"tfo-lab-{name}" for name in "abcd")
    other_name = tmp_path / "somebody"
    for directory in (without_lock, locked_by_link, of_another, ended, other_name):
        directory.mkdir()
    for directory in (of_another, ended, other_name):
        (directory / LOCK).write_text("")
    os.chown(of_another, 65534, 65534)
    (tmp_path / "tfo-lab-link").symlink_to(other_name)
    (locked_by_link / LOCK).symlink_to(other_name / LOCK)
    (ended / "link").symlink_to(other_name)
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "somebody", "tfo-lab-a", "tfo-lab-b", "tfo-lab-c", "tfo-lab-link"]
    assert (other_name / LOCK).exists()


def test_what_cannot_be_removed_now_is_removed_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = tmp_path / "tfo-lab-a"
    (ended / "mounted").mkdir(parents=True)
    (ended / LOCK).write_text("")
    with monkeypatch.context() as busy:
        busy.setattr(shutil, "rmtree", lambda _path, **_how: None)
        sweep(tmp_path)
    assert ended.is_dir()
    sweep(tmp_path)
    assert not ended.exists()


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    """Give a folder of another file system."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tfo-lab-move-") as name:
        folder = Path(name) / "results"
        (folder / "cell").mkdir(parents=True)
        (folder / "cell" / "load.json").write_text("{}")
        (folder / "link").symlink_to("cell/load.json")
        if folder.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        yield folder


def test_a_folder_goes_to_another_file_system(results: Path, tmp_path: Path) -> None:
    written_ns = (results / "cell" / "load.json").stat().st_mtime_ns
    move(results, tmp_path / "kept")
    assert (tmp_path / "kept" / "cell" / "load.json").read_text() == "{}"
    assert (tmp_path / "kept" / "cell" / "load.json").stat().st_mtime_ns == written_ns
    assert (tmp_path / "kept" / "link").readlink() == Path("cell/load.json")
    assert not results.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_where_something_is_already_nothing_is_lost(results: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").touch()
    with pytest.raises(OSError, match="Errno 39"):
        move(results, tmp_path / "kept")
    assert (results / "cell" / "load.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["precious"]
