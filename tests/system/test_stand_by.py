"""A program that stands by: each call is a process of its own, and none outlives the program or its caller."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.system.processes import children_by_parent, is_running
from harness.system.stand_by import StandingBy, standing_by

PROGRAM = f"""
import json, os, pathlib, sys, time
sys.path.insert(0, {str(ROOT)!r})
from harness.errors import InputError
from harness.system.options import OptionParser, Whole
from harness.system.stand_by import run_or_stand_by
CALLS = []

def main():
    CALLS.append(1)
    parser = OptionParser()
    parser.add_argument("what")
    parser.add_argument("--status", type=Whole(0, 255), default=0)
    options = parser.parse_args()
    if options.what == "tell":
        print("nobody reads this")
        own = pathlib.Path("/proc/self")
        print(json.dumps({{"calls": len(CALLS), "pid": os.getpid(), "session": os.getsid(0), "in": sys.stdin.read(),
                          "name": (own / "comm").read_text().strip(),
                          "open": sorted(os.readlink(own / "fd" / each) for each in os.listdir(own / "fd")
                                         if os.path.exists(own / "fd" / each))}}), file=sys.stderr)
    if options.what == "refuse":
        raise InputError("no")
    if options.what == "fail":
        raise ZeroDivisionError("divided")
    if options.what == "hang":
        pathlib.Path(f"hangs-{{os.getpid()}}").touch()
        time.sleep(60)
    return options.status

run_or_stand_by(main)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def errors(tmp_path: Path) -> Iterator[IO[bytes]]:
    with (tmp_path / "errors").open("w+b") as file:
        yield file


@pytest.fixture
def standing(program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandingBy]:
    monkeypatch.chdir(program.parent)
    with standing_by([sys.executable, str(program)], "program.py") as found:
        yield found


def read(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read().decode()


def test_each_call_is_a_process_of_its_own(standing: StandingBy, errors: IO[bytes]) -> None:
    for _ in range(2):
        assert standing.call(["tell"], errors, 10) == 0
    first, second = map(json.loads, read(errors).splitlines())
    assert first["calls"] == second["calls"] == 1, "nothing is left of the call before"
    for said in (first, second):
        assert said["session"] == said["pid"], "Ctrl-C in our terminal does not reach it"
        assert (said["in"], said["name"]) == ("", "program.py")
        assert not [name for name in said["open"] if name.startswith("socket:")], "it cannot be called from a call"


@pytest.mark.parametrize(("arguments", "status", "said"), [
    (["tell", "--status", "7"], 7, '"calls": 1'), (["refuse"], 2, "no"), (["fail"], 1, "ZeroDivisionError: divided"),
    ([], 2, "required: what"), (["tell", "--status", "x"], 2, "--status"), (["tell", "--help"], 0, "")])
def test_it_ends_as_the_program_does(program: Path, errors: IO[bytes], arguments: list[str], status: int,
                                     said: str) -> None:
    alone = subprocess.run([sys.executable, str(program), *arguments], cwd=program.parent, stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False, timeout=20)
    with standing_by([sys.executable, str(program)], "program.py") as standing:
        assert standing.call(arguments, errors, 10) == alone.returncode == status
    assert said in read(errors)


def test_a_call_that_takes_too_long_is_ended_and_the_next_is_taken(standing: StandingBy, errors: IO[bytes]) -> None:
    """However far it came in its time: on a busy machine it may not have begun to hang."""
    with pytest.raises(subprocess.TimeoutExpired):
        standing.call(["hang"], errors, 0.5)
    assert standing.program.process.pid not in children_by_parent()
    assert standing.call(["tell"], errors, 10) == 0


def hanging_call(standing: StandingBy, folder: Path) -> tuple[int, "Future[int]"]:
    """Begin a call that hangs, for a test that ends it from outside; return its process, and what call() will do."""
    caller = ThreadPoolExecutor(1)
    with (folder / "errors").open("wb") as errors:
        called = caller.submit(standing.call, ["hang"], errors, 30)
        deadline_s = time.monotonic() + 20
        while not list(folder.glob("hangs-*")):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
    caller.shutdown(wait=False)
    [call] = children_by_parent()[standing.program.process.pid]
    return call, called


def gone(pid: int) -> bool:
    deadline_s = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return not is_running(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_call_dies_with_the_program_that_stands_by(standing: StandingBy, errors: IO[bytes], tmp_path: Path,
                                                     number: signal.Signals) -> None:
    call, called = hanging_call(standing, tmp_path)
    standing.program.process.send_signal(number)
    assert called.result(10) == -signal.SIGKILL
    assert gone(call)
    standing.program.process.wait(10)
    with pytest.raises(ExperimentError, match=r"program\.py ended \(killed by SIG"):
        standing.check()
    with pytest.raises((OSError, ExperimentError)):
        standing.call(["tell"], errors, 10)


def test_what_stands_stopped_has_an_end(standing: StandingBy, errors: IO[bytes]) -> None:
    os.kill(standing.program.process.pid, signal.SIGSTOP)
    standing.connection.settimeout(0.2)
    with pytest.raises(ExperimentError, match=r"program\.py does not answer"):
        standing.call(["tell"], errors, 10)
    os.kill(standing.program.process.pid, signal.SIGCONT)
