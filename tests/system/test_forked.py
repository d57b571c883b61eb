"""A call in a process of its own: it ends as a program would, and nothing of it outlives it or its caller."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.system.forked import call_forked
from harness.system.processes import children_by_parent


def tell() -> int:
    own = Path("/proc/self")
    files = {str(each.readlink()) for each in (own / "fd").iterdir() if each.exists()}
    print("nobody reads this")
    print(json.dumps({"session": os.getsid(0) == os.getpid(), "in": os.read(0, 1).decode(), "files": sorted(files),
                      "name": (own / "comm").read_text().strip()}), file=sys.stderr)
    return 7


def refuse() -> int:
    raise InputError("no")


def fail() -> int:
    raise ZeroDivisionError("divided")


@pytest.mark.parametrize(("function", "status", "said"), [
    (tell, 7, '"name": "told"'), (refuse, 2, "no\n"), (fail, 1, "ZeroDivisionError: divided")])
def test_it_ends_as_a_program_does(function: Callable[[], int], status: int, said: str, tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w+b") as errors:
        assert call_forked(function, "told", errors, 10) == status
        assert said in (tmp_path / "errors").read_text()


def test_a_call_has_nothing_of_ours(tmp_path: Path) -> None:
    """Neither our terminal, where Ctrl-C is typed, nor our files."""
    with (tmp_path / "errors").open("w+b") as errors:
        call_forked(tell, "told", errors, 10)
        said = json.loads((tmp_path / "errors").read_text())
    assert (said["session"], said["in"]) == (True, "")
    assert said["files"] == sorted([os.devnull, str(tmp_path / "errors")])


def test_a_call_that_takes_too_long_is_ended_and_all_that_it_started(tmp_path: Path) -> None:
    def hang() -> int:
        subprocess.Popen(["sleep", "60"])
        time.sleep(60)
        return 0

    with (tmp_path / "errors").open("w+b") as errors, pytest.raises(subprocess.TimeoutExpired):
        call_forked(hang, "hangs", errors, 0.5)
    assert os.getpid() not in children_by_parent()
