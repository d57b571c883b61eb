"""The machine's lock: one experiment at a time, the second one told who has it, free again however the first ends."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.system import lock
from harness.system.lock import INHERITED_FD, check_alone, holder, only_experiment
from tests.support.replay_process import wait_until
from tests.support.started import started

HOLD = """
import sys
from pathlib import Path
from harness.system.lock import only_experiment
with only_experiment(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def nobody_lends_us_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(INHERITED_FD, raising=False)


@pytest.fixture
def lock_file(tmp_path: Path) -> Path:
    return tmp_path / "lab.lock"


def held_elsewhere(lock_file: Path) -> AbstractContextManager["subprocess.Popen[str]"]:
    """Let another process hold the lock; it lets go when its standard input ends."""
    return started(sys.executable, "-c", HOLD, str(lock_file), "an argument", says="held")


def refusal(lock_file: Path) -> str:
    """Return what is said when the lock cannot be had."""
    with pytest.raises(InputError) as caught, only_experiment(lock_file):
        pytest.fail("two experiments at once")
    return str(caught.value)


def test_the_second_is_refused_with_the_firsts_name(lock_file: Path) -> None:
    with held_elsewhere(lock_file) as first:
        said = refusal(lock_file)
    assert said.startswith(f"{lock_file}: another experiment is running: pid {first.pid} (")
    assert "'an argument'" in said
    assert "\n" not in said


def test_a_process_cannot_take_it_twice_either(lock_file: Path) -> None:
    with only_experiment(lock_file):
        assert f"pid {os.getpid()} " in refusal(lock_file)
    with only_experiment(lock_file):
        assert f"pid {os.getpid()} " in holder(lock_file)


def test_free_after_kill_9_of_the_holder(lock_file: Path) -> None:
    with held_elsewhere(lock_file) as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait(10)
        assert str(first.pid) in holder(lock_file)  # what it wrote is still there, but holds nobody up
        with only_experiment(lock_file):
            assert holder(lock_file).startswith(f"pid {os.getpid()} ")


def test_a_program_started_meanwhile_does_not_keep_the_lock(lock_file: Path) -> None:
    with only_experiment(lock_file):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with only_experiment(lock_file):
            pass
    finally:
        child.kill()
        child.wait(10)


@pytest.fixture
def descriptor(lock_file: Path) -> Iterator[int]:
    """Open the lock file and do not take the lock."""
    number = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    yield number
    os.close(number)


def test_whoever_was_lent_the_lock_neither_waits_for_it_nor_ends_it(lock_file: Path, descriptor: int,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    lock_file.write_text("pid 1 (run.sh)\n")
    monkeypatch.setenv(INHERITED_FD, str(descriptor))
    with only_experiment(lock_file):
        assert lock_file.read_text() == "pid 1 (run.sh)\n"
    monkeypatch.delenv(INHERITED_FD)
    assert f"pid {os.getpid()} " in refusal(lock_file)


@pytest.mark.parametrize("lent", ["", "abc", "-1", "1_0", "987654", "0"])
def test_what_is_lent_is_the_lock_or_refused(lent: str, lock_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock_file.touch()
    monkeypatch.setenv(INHERITED_FD, lent)
    assert refusal(lock_file).startswith(f"{INHERITED_FD}={lent!r}: that is not the lock of this machine ({lock_file})")


def test_the_present_holder_is_named_and_not_who_wrote_last(lock_file: Path, descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    lock_file.write_text("pid 999999999 (./run.sh --name Paper) since 12:00:00\n")
    assert holder(lock_file).startswith(f"pid {os.getpid()} (")


def test_what_a_killed_run_left_of_tcp_fastopen_is_put_back(lock_file: Path, tmp_path: Path,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    sysctl = tmp_path / "tcp_fastopen"
    sysctl.write_text("3\n")
    lock_file.write_text("pid 999999999 (./run.sh) since 12:00:00\ntcp_fastopen 1\n")
    with only_experiment(lock_file, sysctl):
        assert sysctl.read_text() == "1\n"
        assert "tcp_fastopen" not in lock_file.read_text()
    assert capsys.readouterr().err == "net.ipv4.tcp_fastopen is 1 again, as it was before a run that was killed\n"
    with only_experiment(lock_file, tmp_path / "not there"):
        pass


def test_a_bash_script_lends_it_as_run_sh_does(lock_file: Path) -> None:
    script = """exec 9<>"$1"; flock --nonblock 9 || exit 3; echo "pid $$ (run.sh)" >"$1"
                TFO_LAB_LOCK_FD=9 "$2" -c "$3" "$1" </dev/null"""
    done = subprocess.run(["bash", "-c", script, "-", str(lock_file), sys.executable, HOLD], cwd=ROOT, text=True,
                          capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "held\n", "")
    assert holder(lock_file).endswith("(run.sh)")


def test_what_is_lent_outlives_a_killed_lender_and_tidies_up_after_it(lock_file: Path, tmp_path: Path) -> None:
    """As tfo.py does after a `kill -9` of run.sh."""
    sysctl = tmp_path / "tcp_fastopen"
    sysctl.write_text("3\n")
    script = """exec 9<>"$1"; flock --nonblock 9 || exit 3; printf 'pid 1 (run.sh)\ntcp_fastopen 1\n' >"$1"
                TFO_LAB_LOCK_FD=9 "$2" -c "$3" "$1" "$4" <&0 & wait"""
    borrow = ("import sys; from pathlib import Path; from harness.system.lock import only_experiment\n"
              "with only_experiment(*map(Path, sys.argv[1:])): print('held', flush=True); sys.stdin.read()")
    with started("bash", "-c", script, "-", str(lock_file), sys.executable, borrow, str(sysctl), says="held") as lender:
        lender.kill()
        lender.wait(10)
        assert sysctl.read_text() == "3\n"
        assert lender.stdin is not None
        lender.stdin.close()
        wait_until(lambda: (sysctl.read_text(), lock_file.read_text()) == ("1\n", ""))


def test_a_link_in_its_place_is_not_followed(lock_file: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")
    lock_file.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), only_experiment(lock_file):
        pass
    assert precious.read_text() == "data"


def test_an_experiment_without_root_is_seen_on_btrfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files have other device numbers in stat(2) than in /proc/locks."""
    monkeypatch.setattr(lock, "OF_ANYBODY", tmp_path)
    monkeypatch.setattr(os, "minor", lambda device: (device & 0xFF) + 1)
    check_alone()
    localhost = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(localhost, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=f"^{tmp_path}: another experiment is running: pid {os.getpid()};"):
            check_alone()
    finally:
        os.close(localhost)
