"""Whatever of an experiment is killed: nothing of it runs on, and its folder is gone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.processes import children_by_parent, descendants, is_running
from harness.system.scratch import sweep
from tests.support.ordinary import ORDINARY, SUDO, acting_as
from tests.support.ran import assert_refused, ran
from tests.support.started import started
from tests.support.waiting import wait_until

pytestmark = pytest.mark.root
EXPERIMENT = """import os, subprocess, sys, time
from harness.system.contained import begin_experiment, machines_proc, started_as, started_by
from harness.system.privileges import as_root
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

def main():
    begin_experiment("it")
    print("ready")
    print(os.getpid(), started_as(), started_by(), (machines_proc() / "self").readlink(), flush=True)
    with temporary_directory() as folder:
        if sys.argv[1] == "stay":
            with as_root():
                subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; sleep 60 & sleep 60"], start_new_session=True)
        print(folder, flush=True)
        if sys.argv[1] != "stay":
            return int(sys.argv[1])
        try:
            time.sleep(60)
        finally:
            print("was told")

run_interruptible(main)
"""
Experiment = tuple["subprocess.Popen[str]", dict[str, int], list[str]]


@pytest.fixture
def experiment() -> Iterator[Experiment]:
    """Give an experiment: the process as it was started, its processes by what they are, and what it says."""
    command = "env", "--default-signal=HUP", sys.executable, "-c", EXPERIMENT, "stay"      # nohup ignores it
    with started(*command, environment={**os.environ, **SUDO}) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(2)]
        [keeper] = children_by_parent()[process.pid]
        [program] = children_by_parent()[keeper]
        yield process, {"as it was started": process.pid, "the keeper": keeper, "the experiment": program}, said


@pytest.mark.parametrize("killed", [["as it was started"], ["the keeper"], ["the experiment"],
                                    ["as it was started", "the experiment"]], ids=" and ".join)
def test_nothing_survives_whatever_is_killed(experiment: Experiment, killed: list[str]) -> None:
    process, found, [_, folder] = experiment
    below = descendants(process.pid)
    assert {found["the keeper"], found["the experiment"]} < below, "and what the experiment started"
    for which in killed:
        with suppress(ProcessLookupError):          # the first one's end has ended it
            os.kill(found[which], signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    wait_until(lambda: not any(map(is_running, below)))
    if "the keeper" in killed:
        with acting_as(ORDINARY):
            sweep(Path(folder).parent)              # as the next experiment does
    wait_until(lambda: not Path(folder).exists())


def test_it_knows_how_others_see_it_and_signals_are_passed_on(experiment: Experiment) -> None:
    """Others than SIGHUP: tests/programs/test_interrupt.py."""
    process, found, [numbers, _] = experiment
    assert [*map(int, numbers.split())] == [2, process.pid, os.getpid(), found["the experiment"]]
    title = Path(f"/proc/{found['the keeper']}/cmdline").read_bytes()
    assert title.startswith(b"TFO Lab: "), "who kills all processes of the program's name leaves it"
    process.send_signal(signal.SIGHUP)
    told, said = process.communicate()
    assert (process.returncode, told, said.count("cleaned up")) == (-signal.SIGHUP, "was told\n", 1)


def test_where_it_may_not_be_contained_a_line_says_so() -> None:
    """As in a container without the right to mount: here, one that may make no further PID namespace."""
    without = ["unshare", "--user", "--map-root-user", "sh", "-ec",
               'echo 0 >/proc/sys/user/max_pid_namespaces; exec "$@"', "sh"]
    done = ran(*without, sys.executable, "-c", EXPERIMENT, "7", cwd=ROOT)
    assert_refused(done, 7)
    assert done.stderr.startswith("no PID namespace can be made here (")
    pid, started_as, _, machines = done.stdout.splitlines()[1].split()
    assert pid == started_as == machines
