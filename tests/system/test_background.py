"""Programs beside the experiment, and calls in a process of their own: waited for, never for ever, and ended.

Politely, then for good, and with their parent. test_contained.py has the tree of them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import ExperimentError, InputError
from harness.system.background import call_forked, running
from harness.system.processes import children_by_parent, is_running, stop
from tests.support.started import started
from tests.support.waiting import wait_until


@pytest.mark.parametrize(("code", "error", "said"), [
    ("echo one >&2; echo x:1: two >&2; exit 1", ExperimentError, "x:1: two"),
    ("echo x:1: bad >&2; exit 2", InputError, "x:1: bad"),
    ("printf '\\377\\n' >&2; exit 1", ExperimentError, "\ufffd"),
    ("echo not yet; exec sleep 60", ExperimentError, "it did not say why")])
def test_what_does_not_get_ready_is_quoted(code: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught, running(["sh", "-c", code], "ready", "the program"):
        pytest.fail("not reached")
    assert str(caught.value) == f"the program did not start: {said}"


def test_many_complaints_do_not_stop_it_and_its_last_words_are_said(tmp_path: Path) -> None:
    """A pipe that nobody reads holds 64 KiB, and then the program hangs."""
    code = f"echo ready; head -c 300000 /dev/zero >&2; touch {tmp_path}/through; echo; echo gone away >&2; exit 3"
    with running(["sh", "-c", code], "ready", "the program") as program:
        wait_until((tmp_path / "through").exists)
        program.process.wait()
        with pytest.raises(ExperimentError, match=r"3\): .*gone away$"):
            program.check()


def tell() -> int:
    own = Path("/proc/self")
    files = {str(each.readlink()) for each in (own / "fd").iterdir() if each.exists()}
    print("nobody reads this")
    print(json.dumps({"session": os.getsid(0) == os.getpid(), "in": os.read(0, 1).decode(), "files": sorted(files),
                      "name": (own / "comm").read_text().strip()}), end="", file=sys.stderr)
    return 7


def refuse() -> int:
    raise InputError("no")


def fail() -> int:
    raise ZeroDivisionError("divided")


def test_a_call_ends_as_a_program_does(tmp_path: Path) -> None:
    """It has nothing of ours, neither our terminal, where Ctrl-C is typed, nor our files."""
    with (tmp_path / "errors").open("w+b") as errors:
        assert [call_forked(function, "told", errors, 10) for function in (refuse, fail, tell)] == [2, 1, 7]
    refused, *_, failed, told = (tmp_path / "errors").read_text().splitlines()
    assert (refused, failed) == ("no", "ZeroDivisionError: divided")
    assert json.loads(told) == {"session": True, "in": "", "name": "told",
                                "files": sorted([os.devnull, str(tmp_path / "errors")])}


def test_nothing_of_the_caller_goes_on_in_a_call_that_is_interrupted_as_it_ends(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr(sys, "__stderr__", SimpleNamespace(flush=interrupted, write=len))
    ours = os.getpid()
    try:
        with (tmp_path / "errors").open("w+b") as errors:
            assert call_forked(lambda: 3, "ends", errors, 10) == 3
    finally:
        if os.getpid() != ours:
            os._exit(9)


def test_a_call_that_takes_too_long_is_ended_and_all_that_it_started(tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.system.background.ENDING_S", 0.3)     # a namespace's first process ignores SIGTERM

    def hang() -> int:
        subprocess.Popen(["sleep", "60"])
        time.sleep(60)
        return 0

    before = children_by_parent().get(os.getpid())
    with (tmp_path / "errors").open("w+b") as errors, pytest.raises(subprocess.TimeoutExpired):
        call_forked(hang, "hangs", errors, 0.5)
    assert children_by_parent().get(os.getpid()) == before


@pytest.mark.parametrize(("trap", "status"), [("exit 7", 7), ("", -signal.SIGKILL)])
def test_stop_ends_what_ignores_sigterm(trap: str, status: int) -> None:
    """And is polite first."""
    with started("sh", "-c", f"trap '{trap}' TERM; echo ready; while :; do sleep 0.02; done") as process:
        stop(process, patience_s=0.5)
        assert process.returncode == status
        assert not is_running(process.pid)


DIES_ITSELF = """["{python}", "-c", "import time; from harness.system.processes import die_with_parent; "
    "die_with_parent(); print(1, flush=True); time.sleep(60)"]"""
BOUND = """bound_to_us(["sh", "-c", "trap '' TERM HUP; echo ready; kill -STOP $$; sleep 60"])"""


@pytest.mark.parametrize("command", [DIES_ITSELF.format(python=sys.executable), BOUND], ids=["itself", "bound"])
def test_a_child_dies_with_its_parent(command: str) -> None:
    code = f"""
import subprocess, sys, time
from harness.system.processes import bound_to_us
child = subprocess.Popen({command}, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", child.pid, sep="\\n", flush=True)
time.sleep(60)
"""
    with started(sys.executable, "-c", code) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_running(pid))
