"""What else the machine does: which program keeps it busy, how long one waits for it, and what the ticker notes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from harness.bootstrap import ROOT
from harness.system.environment import MS_PER_TICK, busiest, busy_with, parse_stat, wait_for_quiet
from harness.system.ticker import Ticks, ticking, worked_ms
from tests.support.ran import ran
from tests.support.started import started


def test_a_stopped_process_is_seen_and_a_sleeping_one_is_not() -> None:
    with ticking() as ticks, started("sh", "-c", "echo ready; exec sleep 60") as stopped, \
            started("sh", "-c", "echo ready; read line"):
        time.sleep(1)
        began_s = time.time()
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        stopped.send_signal(signal.SIGCONT)
        ended_s = time.time()
        time.sleep(0.3)
    assert ticks.stopped_ms(0, ended_s + 10) == {"sleep": pytest.approx(1000 * (ended_s - began_s), rel=0.5)}
    assert ticks.stopped_ms(began_s - 10, began_s - 5) == {}


STOPPED = """
import os, subprocess, time
from harness.system.ticker import ticking
with ticking() as ticks:
    time.sleep(0.2)
    began_s = time.time()
    subprocess.run(["sh", "-c", f"kill -STOP {os.getpid()}; sleep 0.4; kill -CONT {os.getpid()}"], check=True)
    ended_s = time.time()
print(ticks.largest_gap_ms(began_s, ended_s), ticks.largest_gap_ms(began_s - 100, began_s - 90))
"""


def test_a_gap_of_the_whole_program_is_noted() -> None:
    """A helper stops a program, its ticker with it, and lets it go on: as a suspended machine does.

    Not the tests' own process: sudo would stand still with it, and its caller's shell take the terminal back.
    """
    done = ran(sys.executable, "-c", STOPPED, status=0, cwd=ROOT)
    gap_ms, before_ms = map(float, done.stdout.split())
    assert gap_ms > 250
    assert before_ms == 0


def test_what_lies_between_two_moments_counts_and_counts_grow_evenly_between_samples() -> None:
    ticks = Ticks(gaps=[(100.0, 50.0), (200.0, 20.0)], names={1: "a", 2: "a"})
    for pid, at_s, so_far_ms in ((1, 1.0, 0), (1, 2.0, 1000), (2, 3.0, 0), (2, 4.0, 1000)):
        ticks.note(at_s, pid, stopped=so_far_ms)
    assert ticks.largest_gap_ms(100.02, 300.0) == pytest.approx(30)
    assert ticks.largest_gap_ms(150.0, 160.0) == 0
    assert ticks.stopped_ms(1.5, 3.25) == {"a": pytest.approx(500)}
    for start_s, end_s, grown_ms in ((1.5, 1.75, {1: 250, 2: 0}), (0, 9, {1: 1000, 2: 1000})):
        assert ticks.grown_ms("stopped", start_s, end_s) == grown_ms
    assert ticks.grown_ms("steal", 2.0, 3.0) == {}


@pytest.mark.skipif(os.getpriority(os.PRIO_PROCESS, 0) > 0, reason="of a nice process the kernel's count has none")
@pytest.mark.timing
def test_how_long_a_process_waited_for_a_processor_is_counted() -> None:
    """Three times as many that compute as there are processors: each waits for two thirds of the time."""
    with ticking() as ticks, ExitStack() as spinning:
        for _ in range(3 * (os.cpu_count() or 1)):
            spinning.enter_context(started("sh", "-c", "echo ready; while :; do :; done"))
        time.sleep(0.7)
        began_s = time.time()
        time.sleep(1)
        ended_s = time.time()
    waited_ms = ticks.grown_ms("waited", began_s, ended_s)
    assert {ticks.names[pid] for pid in waited_ms} == {"sh"}
    assert max(waited_ms.values()) > 300
    worked_ms = ticks.grown_ms("worked", began_s, ended_s)
    assert 100 < sum(worked_ms.values()) < 1300 * (ended_s - began_s) * (os.cpu_count() or 1)
    assert os.getpid() in worked_ms.keys() - waited_ms.keys()


def test_the_times_of_a_process_are_read() -> None:
    """Whatever nice value we have: after `sudo nice ./run.sh` other programs' work was taken for the experiment's."""
    numbers = [str(number).encode() for number in range(45)]
    usual, nice = ([*numbers[:16], value, *numbers[17:]] for value in (b"0", b"10"))
    assert worked_ms(usual) == (11 + 12) * MS_PER_TICK
    assert worked_ms(nice) == 12 * MS_PER_TICK, "as /proc/stat's user time has nothing of it"
    assert parse_stat("cpu  71670 83 13092 63256 447 5 218 3427 0 0\n") == {
        "steal": 3427 * MS_PER_TICK, "busy": (71670 + 13092) * MS_PER_TICK}


@pytest.mark.timing
def test_a_program_over_a_fifth_of_a_core_is_named() -> None:
    """One that is no child of ours; not beside tests that run first: it would get less than a fifth."""
    said = subprocess.run(["sh", "-c", "timeout 20 sh -c 'while :; do :; done' >/dev/null & echo $!"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    assert any("(pid " in words and words.startswith("sh ") for words in busy_with())
    subprocess.run(["kill", said.strip()], check=True)


def test_the_busiest_first_and_the_others_not() -> None:
    before = {1: ("a", 0.0), 2: ("b\x1b[2J", 100.0), 3: ("c", 50.0)}
    after = {1: ("a", 150.0), 2: ("b\x1b[2J", 1100.0), 3: ("c", 290.0), 4: ("new", 900.0)}
    assert busiest(before, after, 1000) == [r"b\x1b[2J (pid 2) uses 100% of a core", "c (pid 3) uses 24% of a core"]


def test_waits_until_it_is_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([["x (pid 1) uses 90% of a core"], []])
    monkeypatch.setattr("harness.system.environment.busy_with", lambda: next(looks))
    assert wait_for_quiet(30) == []
    assert capsys.readouterr().out == (
        "the machine is busy: x (pid 1) uses 90% of a core; waiting for quiet, up to 30 s\n")
