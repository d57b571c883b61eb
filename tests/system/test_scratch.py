"""Files that are whole or not there, also between file systems; a folder that is gone at the end, or swept later."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from harness.system.atomic import move
from harness.system.scratch import LOCK, sweep, temporary_directory
from tests.support.started import started

HOLD = """from harness.system.scratch import temporary_directory
import time
with temporary_directory() as directory:
    print("ready", directory, sep="\\n", flush=True)
    time.sleep(60)"""


def test_what_a_killed_experiment_left_is_swept_by_the_next_and_a_running_one_is_not() -> None:
    with started(sys.executable, "-c", HOLD) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().strip())
        (directory / "profile").mkdir()
        (directory / "profile" / "file").write_text("x")
        with temporary_directory():
            assert directory.is_dir(), "it runs"
        process.kill()
        process.wait()
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


def test_a_folder_goes_to_another_file_system(tmp_path: Path) -> None:
    """And where something is already, nothing is lost."""
    kept = tmp_path / "kept"
    (kept / "precious").mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tfo-lab-move-") as name:
        results = Path(name) / "results"
        (results / "cell").mkdir(parents=True)
        (results / "cell" / "load.json").write_text("{}")
        (results / "link").symlink_to("cell/load.json")
        if results.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        with pytest.raises(OSError, match="Errno 39"):
            move(results, kept)
        assert (results / "cell" / "load.json").exists()
        assert [*tmp_path.rglob("*")] == [kept, kept / "precious"]
        (kept / "precious").rmdir()
        kept.rmdir()
        move(results, kept)
        assert not results.exists()
    assert (kept / "cell" / "load.json").read_text() == "{}"
    assert (kept / "link").readlink() == Path("cell/load.json")
    assert [*tmp_path.iterdir()] == [kept]
