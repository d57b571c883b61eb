"""Looking whether the machine is busy: which program is named, and how long one waits for it."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.system.busy import Used, busiest, busy_with, wait_for_quiet


@pytest.fixture
def spinning() -> Iterator[int]:
    """Keep a core busy, by a process that is no child of ours: its own parent has ended."""
    code = ("import os, sys\nif os.fork():\n    sys.exit()\nos.setsid()\nprint(os.getpid(), flush=True)\n"
            "os.close(1)\nimport time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass")
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    yield int(said)
    subprocess.run(["kill", "-KILL", said.strip()], check=False)


@pytest.mark.timing
def test_a_program_over_a_fifth_of_a_core_is_named(spinning: int) -> None:
    """Not beside tests that run first: it would get less than a fifth."""
    assert any(f"(pid {spinning}) uses " in words for words in busy_with(0.5))


def test_the_busiest_first_and_the_others_not() -> None:
    before = {1: Used("a", 0.0), 2: Used("b\x1b[2J", 100.0), 3: Used("c", 50.0)}
    after = {1: Used("a", 150.0), 2: Used("b\x1b[2J", 1100.0), 3: Used("c", 290.0), 4: Used("new", 900.0)}
    assert busiest(before, after, 1000) == [r"b\x1b[2J (pid 2) uses 100% of a core", "c (pid 3) uses 24% of a core"]


def test_what_we_do_ourselves_is_not_counted() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert not any(f"(pid {child.pid})" in words for words in busy_with(0.5))
    finally:
        child.kill()
        child.wait()


def test_waits_until_it_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    looks = iter([["x (pid 1) uses 90% of a core"], []])
    assert wait_for_quiet(30, lambda: next(looks)) == []
    assert capsys.readouterr().out == (
        "the machine is busy: x (pid 1) uses 90% of a core; waiting for quiet, up to 30 s\n")
