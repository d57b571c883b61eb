"""The temporary directory: gone at the end, swept by the next experiment after a kill; never anybody else's."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
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


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    without_lock, linked, locked_by_link = (tmp_path / f"tfo-lab-{name}" for name in ("a", "b", "c"))
    other_name = tmp_path / "somebody"
    for directory in (without_lock, locked_by_link, other_name):
        directory.mkdir()
    (other_name / LOCK).write_text("")
    linked.symlink_to(other_name)
    (locked_by_link / LOCK).symlink_to(other_name / LOCK)
    ended = tmp_path / "tfo-lab-d"
    ended.mkdir()
    (ended / LOCK).write_text("")
    (ended / "link").symlink_to(other_name)
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["somebody", "tfo-lab-a", "tfo-lab-b", "tfo-lab-c"]
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


@pytest.mark.root
def test_another_users_directory_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "tfo-lab-theirs"
    theirs.mkdir()
    (theirs / LOCK).write_text("")
    os.chown(theirs, 65534, 65534)
    sweep(tmp_path)
    assert theirs.is_dir()
