"""Ctrl-C or SIGTERM at any moment: soon nothing of ours is left, and the logs written so far are whole.

What is left is found by the leak detectors of conftest.py, after each of these tests.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.errors import ExitStatus
from harness.files.results import read_results
from harness.system.lock import MACHINES, only_experiment
from harness.system.privileges import User, give
from harness.system.processes import descendants, is_running
from tests.support.faults import command_of
from tests.support.ordinary import ORDINARY, SUDO
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran
from tests.support.recording import chain_of_hosts
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.chrome]

HOSTS = 4
ROOT_FASTOPEN = Path("/proc/sys/net/ipv4/tcp_fastopen")


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """Give a copy of the project with a small mirror; each run.sh moves aside what the last one left."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)         # a student's way to the project; pytest's own folders are closed to others
        copy = copy_project(Path(name) / "project")
        chain_of_hosts(copy, hosts=HOSTS)
        yield copy


@pytest.fixture
def student(project: Path) -> Iterator[dict[str, str]]:
    """Return the environment of a student who typed sudo, whose the project is then.

    The experiment is the student but for a few statements, so that more can go wrong than where root itself typed.
    """
    give(project, ORDINARY)
    yield {**os.environ, **SUDO}
    give(project, User("root", 0, 0))


def start(project: Path, *words: str, caller: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    # In a session of its own, as from another terminal; no signal is ignored, as it would be in the background.
    command = typed(project, *words, "--delays", "20", "--quiet", "0.3", "--patience", "0")
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True, env=caller,
                            preexec_fn=ignore_nothing)  # noqa: PLW1509


def ignore_nothing() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def read_until(process: "subprocess.Popen[str]", wanted: str) -> str:
    """Read output until it holds `wanted`; fail when it ends before."""
    assert process.stdout is not None
    seen = ""
    while wanted not in seen:
        chunk = os.read(process.stdout.fileno(), 65536)     # what there is: the rest may come when the test goes on
        assert chunk, f"ended before {wanted!r}: {seen}"
        seen += chunk.decode(errors="replace")
    return seen


def while_building(process: "subprocess.Popen[str]") -> None:
    """Wait until Mininet has begun to make hosts."""
    read_until(process, "page loads;")
    wait_until(lambda: "mininet:server" in commands_below(process))


def while_starting_servers(process: "subprocess.Popen[str]") -> None:
    """Wait until the network stands and the servers are being started."""
    read_until(process, f"RTT to {HOSTS} servers")


def commands_below(process: "subprocess.Popen[str]") -> str:
    """Return the command lines of all that `process` started and that still runs."""
    pids = ",".join(map(str, [process.pid, *descendants(process.pid)]))
    return ran("ps", "-ww", "-o", "args", "-p", pids).stdout


def ended(process: "subprocess.Popen[str]", number: signal.Signals, project: Path) -> None:
    """End a run: nothing of it is left, and what it wrote is whole."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # Ctrl-C reaches the whole foreground job
    else:
        process.send_signal(number)
    output, _ = process.communicate()
    assert process.returncode == -number, output
    assert "Traceback" not in output
    if written := list((project / "client").glob("*/*.json")):
        results = read_results(project / "client")
        assert (results.problems, len(results.loads)) == ([], len(written))
        assert all(load.valid for load in results.loads)


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "number"), [
    (while_building, signal.SIGINT), (while_starting_servers, signal.SIGTERM)],
    ids=lambda value: value.__name__ if callable(value) else value.name)
def test_nothing_is_left(moment: Callable[["subprocess.Popen[str]"], None], number: signal.Signals,
                         project: Path) -> None:
    fastopen_before, process = ROOT_FASTOPEN.read_text(), start(project, "./run.sh", "--name", "small", "--pcap")
    try:
        moment(process)
        ended(process, number, project)
    finally:
        process.kill()
        process.wait()
    assert ROOT_FASTOPEN.read_text() == fastopen_before


def test_killed_tfo_leaves_nothing(project: Path, student: dict[str, str]) -> None:
    """All processes of its name, by SIGKILL: the kernel ends ours, the network with them, and the folder is removed."""
    process = start(project, "./tfo.py", "--name", "small", caller=student)
    try:
        read_until(process, "[  1/")
        scratch = [path for path in Path(os.environ["TMPDIR"]).glob("tfo-lab-*") if path.is_dir()]
        ours = descendants(process.pid)
        named = [pid for pid in (process.pid, *ours) if "tfo.py" in " ".join(command_of(pid))]
    finally:
        for pid in named:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
    assert ours, "servers, a delay line or netem's checks, and a browser were there"
    wait_until(lambda: not any(map(is_running, ours)))
    assert scratch
    wait_until(lambda: not any(directory.exists() for directory in scratch))


@pytest.mark.slow
def test_a_killed_run_ends_its_experiment_which_puts_the_switch_back(project: Path, student: dict[str, str]) -> None:
    with only_experiment():     # puts back what the killed experiment of the test before could not
        fastopen_before = ROOT_FASTOPEN.read_text()
    process = start(project, "./run.sh", "--name", "small", caller=student)
    try:
        read_until(process, "[  1/")
        process.kill()
        output, _ = process.communicate()        # at the end of all who write to this pipe
        assert "SIGTERM" in output
        assert ROOT_FASTOPEN.read_text() == fastopen_before
    finally:
        process.kill()
        with only_experiment():
            assert ROOT_FASTOPEN.read_text() == fastopen_before


@pytest.mark.slow
def test_a_second_experiment_is_refused_and_logs_of_an_interrupted_one_can_be_plotted(project: Path) -> None:
    fastopen_before, process = ROOT_FASTOPEN.read_text(), start(project, "./run.sh", "--name", "small", "--pcap",
                                                             "--testruns", "20")
    try:
        read_until(process, f"RTT to {HOSTS} servers")
        for command in ("./run.sh", "./tfo.py"):
            second = ran(*typed(project, command, "--name", "small"))
            assert_refused(second, ExitStatus.BUSY)
            assert second.stderr.startswith(f"{MACHINES.folder}: another experiment is running: pid {process.pid} (")
        read_until(process, "[  2/")
        wait_until(lambda: "--log-net-log" in commands_below(process))
        ended(process, signal.SIGINT, project)
    finally:
        process.kill()
        process.wait()
    assert ROOT_FASTOPEN.read_text() == fastopen_before
    assert len((project / "client" / "loads.csv").read_text().splitlines()) > 1
    assert "\t40\t" in ran(*typed(project, "./plot.py")).stdout
