"""The temporary directory: gone at the end, swept by the next experiment after a kill; never anybody else's."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.scratch import LOCK, MARK, sweep, temporary_directory

HOLD = """from harness.system.scratch import temporary_directory
import time
with temporary_directory() as directory:
    print(directory, flush=True)
    time.sleep(60)"""


def test_it_is_gone_at_the_end() -> None:
    with temporary_directory() as directory:
        (directory / "file").write_text("x")
        assert directory.stat().st_mode & 0o777 == 0o711
    assert not directory.exists()


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


LEAVE = """from harness.system.scratch import temporary_directory
import os, signal, subprocess
with temporary_directory() as directory:
    child = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; kill -STOP $$; sleep 60"], start_new_session=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(directory, child.pid, flush=True)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    os.kill(os.getpid(), signal.SIGKILL)"""


def test_what_a_killed_experiment_started_is_ended_by_the_next_and_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", LEAVE], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    directory, pid = Path(done.stdout.split()[0]), int(done.stdout.split()[1])
    other = {**os.environ, MARK: f"{directory}-of-another", "PATH_TO": str(directory)}
    with subprocess.Popen(["sleep", "60"], env=other) as bystander:
        try:
            assert process_state(pid) == "T", "it stands stopped, and hears of no other signal"
            with temporary_directory():
                assert not directory.exists()
                assert process_state(pid) in ("", "Z")
            assert bystander.poll() is None
        finally:
            bystander.kill()


def process_state(pid: int) -> str:
    """Return a process's state (proc(5)), "" when there is none of that number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_the_mark_is_taken_back() -> None:
    with temporary_directory() as outer:
        with temporary_directory() as inner:
            assert os.environ[MARK] == str(inner)
        assert os.environ[MARK] == str(outer)
    assert MARK not in os.environ


def test_children_from_before_are_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        with temporary_directory():
            pass
        assert child.poll() is None
        child.kill()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    without_lock, linked, locked_by_link = (tmp_path / f"tfo-lab-{name}" for name in ("a", "b", "c"))
    other_name = tmp_path / "somebody"
    for directory in (without_lock, locked_by_link, other_name):
        directory.mkdir()
    (other_name / LOCK).write_text("")
    linked.symlink_to(other_name)
    (locked_by_link / LOCK).symlink_to(other_name / LOCK)
    assert sweep(tmp_path) == []
    ended = tmp_path / "tfo-lab-d"
    ended.mkdir()
    (ended / LOCK).write_text("")
    (ended / "link").symlink_to(other_name)
    assert sweep(tmp_path) == [ended]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["somebody", "tfo-lab-a", "tfo-lab-b", "tfo-lab-c"]
    assert (other_name / LOCK).exists()


@pytest.mark.root
def test_another_users_directory_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "tfo-lab-theirs"
    theirs.mkdir()
    (theirs / LOCK).write_text("")
    os.chown(theirs, 65534, 65534)
    assert sweep(tmp_path) == []
    assert theirs.is_dir()
