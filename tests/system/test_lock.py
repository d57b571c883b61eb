"""The machine's lock: one experiment at a time, the second one told who has it, free again however the first ends."""

import fcntl
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.system.lock import Lock, holder, only_experiment
from tests.support.started import started

HOLD = """
import sys
from pathlib import Path
from harness.system.lock import Lock, only_experiment
with only_experiment(Lock(Path(sys.argv[1]), *map(Path, sys.argv[2:4]))):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    (tmp_path / "folder").mkdir()
    (tmp_path / "sysctl").write_text("3\n")
    return Lock(tmp_path / "folder", tmp_path / "notes", tmp_path / "sysctl", lent=-1)


def test_free_after_kill_9_of_the_holder(lock: Lock) -> None:
    with started(sys.executable, "-c", HOLD, *map(str, (lock.folder, lock.notes, lock.sysctl)), says="held") as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert holder(lock) == "lslocks(8) says which", "what it wrote is still there, but is not true any more"
        with only_experiment(lock):
            assert holder(lock).startswith(f"pid {os.getpid()} ")


def test_whoever_was_lent_the_lock_neither_waits_for_it_nor_ends_it(lock: Lock) -> None:
    descriptor = os.open(lock.folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    lock.notes.write_text("pid 1 (run.sh)\n")
    try:
        with only_experiment(replace(lock, lent=descriptor)):
            assert lock.notes.read_text() == "pid 1 (run.sh)\n"
        with pytest.raises(InputError, match=r"pid 1 \(run\.sh\)"), only_experiment(lock):
            pytest.fail("two experiments at once")
    finally:
        os.close(descriptor)


@pytest.mark.root
def test_whoever_outlives_its_lender_puts_the_switch_back(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    lock.notes.write_text("pid 1 (run.sh)\ntcp_fastopen 1\n")
    monkeypatch.setattr("harness.system.lock.started_by", iter((1, 2)).__next__)
    descriptor = os.open(lock.folder, os.O_RDONLY)
    try:
        with only_experiment(replace(lock, lent=descriptor)):
            assert lock.sysctl.read_text() == "3\n"
    finally:
        os.close(descriptor)
    assert (lock.sysctl.read_text(), lock.notes.read_text()) == ("1\n", "")


@pytest.mark.root
def test_what_a_killed_run_left_of_tcp_fastopen_is_put_back(lock: Lock, capsys: pytest.CaptureFixture[str]) -> None:
    lock.notes.write_text("pid 999999999 (./run.sh) since 12:00:00\ntcp_fastopen 1\n")
    with only_experiment(lock):
        assert lock.sysctl.read_text() == "1\n"
        assert "\ntcp_fastopen" not in lock.notes.read_text()
    assert capsys.readouterr().err.count("\n") == 1
    lock.sysctl.write_text("3\n")
    with only_experiment(lock):
        assert lock.sysctl.read_text() == "3\n"
    assert lock.notes.read_text() == "", "it ended: nothing is to be put back, and nobody is named"


@pytest.mark.root
def test_a_link_in_its_place_is_not_followed(lock: Lock, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")
    lock.notes.symlink_to(precious)
    with pytest.raises(OSError, match="Errno 40"), only_experiment(lock):
        pass
    assert precious.read_text() == "data"
