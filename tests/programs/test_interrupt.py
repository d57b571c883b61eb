"""Ctrl-C or SIGTERM at any moment: soon nothing of ours is left, and the logs written so far are whole.

What is left is found by the leak detectors of conftest.py, after each of these tests. Whichever process is killed:
tests/system/test_contained.py, tests/faults.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.errors import ExitStatus
from harness.files.results import read_results
from harness.system.lock import MACHINES
from harness.system.privileges import give
from harness.system.processes import descendants, is_running
from tests.support.faults import command_of
from tests.support.ordinary import ORDINARY, SUDO
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran
from tests.support.recording import chain_of_hosts
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

HOSTS = 4
ROOT_FASTOPEN = Path("/proc/sys/net/ipv4/tcp_fastopen")


@pytest.fixture
def project(open_to_all: Path) -> Path:
    """Give a copy of the project with a small mirror."""
    return chain_of_hosts(copy_project(open_to_all / "project"), hosts=HOSTS)


@contextmanager
def begun(project: Path, *words: str, **caller: str) -> Iterator["subprocess.Popen[str]"]:
    """Begin a run in a session of its own, as from another terminal, with no signal ignored as in the background.

    In the end it has ended, and the switch is as it was before.
    """
    fastopen_before = ROOT_FASTOPEN.read_text()
    command = ["env", "--default-signal=INT,QUIT", *typed(project, "./run.sh", "--name", "small", "--delays", "20",
                                                          "--quiet", "0.3", "--patience", "0", *words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True, env={**os.environ, **caller}) as process:
        try:
            yield process
        finally:
            process.kill()
    assert ROOT_FASTOPEN.read_text() == fastopen_before


def read_until(process: "subprocess.Popen[str]", wanted: str) -> None:
    """Read output until it holds `wanted`; fail when it ends before."""
    assert process.stdout is not None
    seen = ""
    while wanted not in seen:
        chunk = os.read(process.stdout.fileno(), 65536)     # what there is: the rest may come when the test goes on
        assert chunk, f"ended before {wanted!r}: {seen}"
        seen += chunk.decode(errors="replace")


def commands_below(process: "subprocess.Popen[str]") -> str:
    """Return the command lines of all that `process` started and that still runs."""
    pids = ",".join(map(str, [process.pid, *descendants(process.pid)]))
    return ran("ps", "-ww", "-o", "args", "-p", pids).stdout


def ended(process: "subprocess.Popen[str]", number: signal.Signals, project: Path) -> None:
    """End a run, by SIGINT as Ctrl-C does, which reaches the whole foreground job: what it wrote is whole."""
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    output, _ = process.communicate()
    assert process.returncode == -number, output
    assert "Traceback" not in output
    if written := list((project / "client").glob("*/*.json")):
        results = read_results(project / "client")
        assert (results.problems, len(results.loads)) == ([], len(written))
        assert all(load.valid for load in results.loads)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_nothing_is_left_of_half_a_network(project: Path, number: signal.Signals) -> None:
    with begun(project) as process:
        read_until(process, "page loads;")
        wait_until(lambda: "mininet:server" in commands_below(process))
        ended(process, number, project)


def test_a_second_experiment_is_refused_and_logs_of_an_interrupted_one_can_be_plotted(project: Path) -> None:
    with begun(project, "--pcap", "--testruns", "20") as process:
        read_until(process, f"RTT to {HOSTS} servers")
        for command in ("./run.sh", "./tfo.py"):
            second = ran(*typed(project, command, "--name", "small"))
            assert_refused(second, ExitStatus.BUSY)
            assert second.stderr.startswith(f"{MACHINES.folder}: another experiment is running: pid {process.pid} (")
        read_until(process, "[  2/")
        wait_until(lambda: "--log-net-log" in commands_below(process))
        ended(process, signal.SIGINT, project)
    assert len((project / "client" / "loads.csv").read_text().splitlines()) > 1
    assert "\t40\t" in ran(*typed(project, "./plot.py")).stdout


def test_a_killed_run_ends_its_experiment_which_puts_the_switch_back(project: Path) -> None:
    """The experiment is a student's who typed sudo: it is the student but for a few statements."""
    give(project, ORDINARY)
    with begun(project, **SUDO) as process:
        read_until(process, "[  1/")
        process.kill()
        assert "SIGTERM" in process.communicate()[0], "which ends at the end of all who write to this pipe"


def test_what_a_killed_experiment_leaves_is_removed_as_the_student(project: Path) -> None:
    """Each process that tfo.py is, in its namespace and outside, is killed; the keeper is not, and removes it."""
    give(project, ORDINARY)
    scratch = Path(os.environ["TMPDIR"])
    before = {*scratch.glob("tfo-lab-*")}       # a setup.sh that fails leaves its log there
    command = typed(project, "./tfo.py", "--name", "small", "--delays", "20", "--quiet", "0.3", "--patience", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **SUDO}) as process:
        try:
            read_until(process, "[  1/")
            assert {*scratch.glob("tfo-lab-*")} - before, "its folder"
            below = descendants(process.pid)
            for pid in (process.pid, *below):
                if any(Path(word).name == "tfo.py" for word in command_of(pid)):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            process.communicate()
        finally:
            process.kill()
    wait_until(lambda: not any(map(is_running, below)))
    assert {*scratch.glob("tfo-lab-*")} <= before, "the keeper removes it before it ends"
