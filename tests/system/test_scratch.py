"""The temporary directory: gone at the end, swept by the next experiment after a kill; never anybody else's."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system import scratch
from harness.system.locked_folder import LOCK
from harness.system.scratch import MARK, MOST_LOOKS, sweep, temporary_directory

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


ANOTHER_EVERY_20_MS = """import os, time
end = time.monotonic() + 30
while time.monotonic() < end:
    if os.fork() == 0:
        os.setsid()
    else:
        time.sleep(0.02)
        os._exit(0)"""
BREED = """from harness.system.scratch import temporary_directory
import os, signal, subprocess, sys
with temporary_directory() as directory:
    subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True, stdout=subprocess.DEVNULL)
    print(directory, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)"""


def test_what_goes_on_starting_others_is_ended() -> None:
    """One look at all processes misses what is started meanwhile."""
    done = subprocess.run([sys.executable, "-c", BREED, ANOTHER_EVERY_20_MS], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=False)
    directory = Path(done.stdout.strip())
    with temporary_directory():
        assert not directory.exists()
        assert not [path for path in Path("/proc").glob("[0-9]*") if has(path, f"{MARK}={directory}")]


def says_nothing(_process: Path, _directories: list[Path]) -> bool:
    return False


def cannot_be_asked(_process: Path, _directories: list[Path]) -> bool:
    raise ProcessLookupError


@pytest.mark.parametrize("kernel", [says_nothing, cannot_be_asked], ids=["before Linux 6.16", "since then"])
def test_what_has_ended_and_is_not_reaped_may_have_started_another(kernel: Callable[[Path, list[Path]], bool],
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """So all are looked at once more; and not again and again, as one may stay for ever."""
    looked_at: list[str] = []

    def is_of(process: Path, directories: list[Path]) -> bool:
        looked_at.append(process.name)
        return kernel(process, directories)

    monkeypatch.setattr(scratch, "_is_of", is_of)
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        scratch._end_all_of([])
    assert 1 < looked_at.count(str(child.pid)) < MOST_LOOKS


def test_what_has_lost_its_mark_is_known_by_the_profile_in_its_title() -> None:
    """Chrome's network process writes its title over its environment, and its profile anew when the browser dies."""
    with subprocess.Popen([sys.executable, "-c", HOLD], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        directory = process.stdout.readline().strip()
        process.kill()
    titles = [f"chrome --type=utility --user-data-dir={place}/profile --x" for place in (directory, f"{directory}-")]
    children = [subprocess.Popen([title, "60"], executable="/bin/sleep", env={}) for title in titles]
    try:
        with temporary_directory():
            assert [child.poll() for child in children] == [-signal.SIGKILL, None]
    finally:
        for child in children:
            child.kill()
            child.wait()


def has(process: Path, variable: str) -> bool:
    """Tell whether a process has a variable in its environment."""
    try:
        return variable.encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def process_state(pid: int) -> str:
    """Return a process's state (proc(5)), "" when there is none of that number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


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
