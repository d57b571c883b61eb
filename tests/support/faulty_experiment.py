"""A real experiment on a small page, to which faults are done from outside: followed load by load."""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.urls import split_url
from tests.support.faults import Fault, Target, command_of, done_to, load_of
from tests.support.ran import ran
from tests.support.recording import ICON, MadeRecording

DOCUMENTS = ("http://one.test/", "http://two.test/", "http://one.test/last.html")
"""The page, and frames one in the other: it waits for the network at any moment of its load."""
DELAYNET_MS = 100
"""One way: 12 round trips of 200 ms without TFO and 6 with it make a page load of 1.2 or 0.6 s, a tenth of which is
many times what Chrome's own time varies by."""
LOW_DELAYNET_MS = 50
"""For an experiment that ends with its fault: its loads are not compared."""
FAULTS_A_LOAD, RETRIES = 6, 10
"""So many tries of a load get a fault, and so many more it may have."""
DISKS = {"client": "20m", "t": "150m"}
"""Folders that are small disks of their own: of results, and of temporary files. They can be filled."""
LINE = re.compile(r"^\[ *\d+/\d+\] \S+ \S+ ms run (\d+) TFO (?:on|off) ?(?: try \d+)?  (PLT|FAILED)", re.MULTILINE)
START_S, LOAD_S, END_S = 60.0, 60.0, 90.0
POLL_S = 0.05


@dataclass(frozen=True)
class Done:
    """A fault that was done, from when to when (s since the epoch), and how long after its load had begun."""

    fault: Fault
    from_s: float
    until_s: float
    after_s: float


@dataclass(frozen=True)
class Moment:
    """When: so many seconds after the load's process is there or, with `packet`, after its first packet."""

    seconds: float
    packet: bool

    def wait(self, pid: int) -> None:
        """Wait for it in the experiment whose process is `pid`."""
        if self.packet:
            _wait_for_packet(pid)
        time.sleep(self.seconds)


def random_moment(fault: Fault, chance: random.Random) -> Moment:
    """Return a moment: of the page load itself in two of three, else of Chrome's start, the load or its end.

    What lasts comes after Chrome's start: without a disk it takes a minute to say that it cannot.
    """
    if fault.lasts or chance.random() < 2 / 3:
        return Moment(chance.uniform(0, 0.5), packet=True)
    return Moment(chance.uniform(0.1, 1.5), packet=False)


@dataclass
class Running:
    """An experiment that runs, its folder, and the faults that were done to it so far."""

    base: Path
    wanted: int
    """So many loads it is to measure, warm-up included."""
    process: "subprocess.Popen[bytes]"
    target: Target
    done: list[Done] = field(default_factory=list)
    load_pid: int | None = None

    @property
    def client(self) -> Path:
        """The folder of its results."""
        return self.target.results

    @property
    def status(self) -> int:
        """Its exit status, when it has ended."""
        status = self.process.poll()
        assert status is not None
        return status

    @property
    def output(self) -> str:
        """All that it printed so far."""
        return (self.base / "output").read_text(encoding="utf-8", errors="replace")

    def next_load(self) -> bool:
        """Wait until another load's process is there; False when the experiment ended first."""
        deadline_s = time.monotonic() + START_S
        while self.process.poll() is None:
            pid = load_of(self.process.pid)
            if pid not in (None, self.load_pid):
                self.load_pid = pid
                return True
            assert time.monotonic() < deadline_s, f"no further load: {self.output}"
            time.sleep(POLL_S)
        return False

    def await_end_of_load(self) -> None:
        """Wait until the load's process is gone, or the experiment."""
        deadline_s = time.monotonic() + LOAD_S
        while self._loads():
            assert time.monotonic() < deadline_s, f"the load does not end: {self.output}"
            time.sleep(POLL_S)

    def may_be_disturbed(self) -> bool:
        """Tell whether the load that began may still fail, and is not the last one, which is left alone."""
        lines = LINE.findall(self.output)
        counted = [run for run, verdict in lines if verdict == "PLT"]
        failed = [run for run, verdict in lines if verdict == "FAILED" and run == lines[-1][0]]
        return len(counted) < self.wanted - 1 and len(failed) < FAULTS_A_LOAD

    def do(self, fault: Fault, moment: Moment) -> bool:
        """Do the fault at its moment of the load that began; tell whether there was something to do it to.

        One that lasts is undone when the load is over; when it ends the experiment, when that is.
        """
        began_s = time.time()
        moment.wait(self.target.pid)
        while self._loads():
            from_s = time.time()
            with done_to(self.target, fault) as found:
                if found and fault.lasts:
                    self.await_end_of_load()
                if found and fault.lasts and fault.ends:        # its results are written when the load is over
                    self.process.wait(END_S)
            if found:
                self.done.append(Done(fault, from_s, time.time(), from_s - began_s))
                return True
            time.sleep(POLL_S)
        return False

    def _loads(self) -> bool:
        return self.process.poll() is None and load_of(self.process.pid) == self.load_pid


def _wait_for_packet(pid: int) -> None:
    """Wait until `user` sends a packet that leaves it; not for ever, and not for an experiment that ends."""
    deadline_s = time.monotonic() + 5
    with suppress(OSError, StopIteration):
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        counts = Path(f"/proc/{next(child for child in children if 'mininet:user' in command_of(child))}/net/dev")
        before = _sent(counts)
        while _sent(counts) == before and time.monotonic() < deadline_s:
            time.sleep(POLL_S / 5)


def _sent(counts: Path) -> list[str]:
    """Return how many packets left by each interface but the loopback, by which Chrome is driven (proc(5), net/dev)."""
    return [line.split()[10] for line in counts.read_text().splitlines() if ":" in line and "lo:" not in line]


@contextmanager
def started(base: Path, testruns: int, tfo: str, delaynet_ms: int = DELAYNET_MS) -> Iterator[Running]:
    """Start the experiment in `base`, an empty folder that all may enter; it is ended, whatever happens."""
    with ExitStack() as undo:
        for name, size in DISKS.items():
            undo.enter_context(_small_disk(base / name, size))
        make_page(base)
        command = [sys.executable, str(ROOT / "tests" / "support" / "spoiled_experiment.py"), "suspend",
                   "--dir", str(base), "--name", "small", "--delaynet", str(delaynet_ms),
                   "--testruns", str(testruns), "--tfo", tfo, "--retries", str(RETRIES), "--quiet", "0.1",
                   "--timeout", "3", "--patience", "20"]
        with (base / "output").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, "TMPDIR": str(base / "t")})
        try:
            yield Running(base, testruns, process, Target(process.pid, base / "client", base / "t"))
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(END_S)


@contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[None]:
    """Make `folder` a disk of its own, of `size` bytes (tmpfs(5)), while this lasts."""
    folder.mkdir()
    ran("mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", folder, status=0)
    try:
        yield
    finally:
        ran("umount", "--lazy", folder, status=0)


def make_page(base: Path) -> None:
    """Write the page, its recording and its list."""
    mirror = MadeRecording(base, "small", har=False)
    for document, inner in zip(DOCUMENTS, [*DOCUMENTS[1:], None], strict=True):
        frame = f'<iframe src="{inner}"></iframe>' if inner else ""
        mirror.add(document, f"<!doctype html>{ICON}<p>{split_url(document)}{frame}")
    mirror.finish(DOCUMENTS[0])


def run_with(running: Running, waiting: list[Fault], chance: random.Random) -> None:
    """Let the experiment run to its end, and do a fault to each try of a load, but to those that may not fail any more.

    What was done is taken out of `waiting`.
    """
    while running.next_load():
        if waiting and running.may_be_disturbed() and running.do(waiting[0], random_moment(waiting[0], chance)):
            del waiting[0]
        running.await_end_of_load()
    running.process.wait(END_S)


def run_until(running: Running, fault: Fault, chance: random.Random) -> None:
    """Do a fault that ends the experiment to its first load, and let it run to its end.

    To the second one where it is about what was written before.
    """
    skipped = int(fault.part in ("experiment", "results"))
    while running.next_load():
        if not running.done and skipped == 0:
            running.do(fault, random_moment(fault, chance))
        skipped = max(0, skipped - 1)
        running.await_end_of_load()
    running.process.wait(END_S)
