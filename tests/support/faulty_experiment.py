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
from tests.support.faults import Fault, command_of, done_to, find
from tests.support.ran import ran
from tests.support.recording import chain_of_hosts
from tests.support.waiting import POLL_S, wait_until

HOSTS = 3
"""Frames one in the other: the page waits for the network at any moment of its load."""
DELAYNET_MS = 100
"""One way: 8 round trips of 200 ms without TFO and 4 with it make a page load of 1.6 or 0.8 s, a tenth of which is
many times what Chrome's own time varies by."""
LOW_DELAYNET_MS = 50
"""For an experiment that ends with its fault: its loads are not compared."""
FAULTS_A_LOAD, RETRIES = 6, 10
"""So many tries of a load get a fault, and so many more it may have."""
DISKS = {"results": ("client", "20m"), "temporary files": ("t", "150m")}
"""Folders that are small disks of their own, by what is in them. They can be filled."""
LINE = re.compile(r"^\[ *\d+/\d+\] \S+ \S+ ms run (\d+) TFO (?:on|off) ?(?: try \d+)?  (PLT|FAILED)", re.MULTILINE)


@dataclass(frozen=True)
class Done:
    """A fault that was done, from when to when (s since the epoch), and how long after its load had begun."""

    fault: Fault
    from_s: float
    until_s: float
    after_s: float


@dataclass
class Running:
    """An experiment that runs, its folder, and the faults that were done to it so far."""

    base: Path
    wanted: int
    """So many loads it is to measure, warm-up included."""
    process: "subprocess.Popen[bytes]"
    done: list[Done] = field(default_factory=list)
    load_pid: int | None = None

    @property
    def client(self) -> Path:
        """The folder of its results."""
        return self.base / "client"

    @property
    def output(self) -> str:
        """All that it printed so far."""
        return (self.base / "output").read_text(encoding="utf-8", errors="replace")

    def next_load(self) -> bool:
        """Wait until another load's process is there; False when the experiment ended first."""
        before = self.load_pid

        def begins() -> bool:
            self.load_pid = self._load() or before
            return self.has_ended or self.load_pid != before

        wait_until(begins)
        return not self.has_ended

    def may_be_disturbed(self) -> bool:
        """Tell whether the load that began may still fail, and is not the last one, which is left alone."""
        lines = LINE.findall(self.output)
        counted = [run for run, verdict in lines if verdict == "PLT"]
        failed = [run for run, verdict in lines if verdict == "FAILED" and run == lines[-1][0]]
        return len(counted) < self.wanted - 1 and len(failed) < FAULTS_A_LOAD

    def do(self, fault: Fault, chance: random.Random) -> bool:
        """Do the fault at some moment of the load that began; tell whether there was something to do it to.

        It is of the page load itself in two of three, else of Chrome's start, the load or its end. What lasts comes
        after Chrome's start: without a disk it takes a minute to say that it cannot.
        One that lasts is undone when the load is over; when it ends the experiment, when that is.
        """
        began_s = time.time()
        if fault.lasts or chance.random() < 2 / 3:
            _wait_for_packet(find("experiment", self.process.pid) or 0)
            time.sleep(chance.uniform(0, 0.5))
        else:
            time.sleep(chance.uniform(0.1, 1.5))
        while not self.is_over():
            from_s = time.time()
            disk = self.base / DISKS.get(fault.part, ("", ""))[0]
            with done_to(self.process.pid, fault, disk) as found:
                if found and fault.lasts:       # results are written when the load is over
                    wait_until(lambda: self.has_ended if fault.ends else self.is_over())
            if found:
                self.done.append(Done(fault, from_s, time.time(), from_s - began_s))
                return True
            time.sleep(POLL_S)
        return False

    def run(self, waiting: list[Fault], chance: random.Random, skipped: int = 0) -> None:
        """Let it run to its end, and do a fault to each try of a load after the `skipped` first ones.

        But to those that may not fail any more, unless the fault ends it. What was done is taken out of `waiting`.
        """
        while self.next_load():
            if skipped > 0:
                skipped -= 1
            elif waiting and (waiting[0].ends or self.may_be_disturbed()) and self.do(waiting[0], chance):
                del waiting[0]
            wait_until(self.is_over)
        self.process.wait()

    @property
    def has_ended(self) -> bool:
        """Whether the experiment has."""
        return self.process.poll() is not None

    def is_over(self) -> bool:
        """Tell whether the load's process is gone, or the experiment."""
        return self.has_ended or self._load() != self.load_pid

    def _load(self) -> int | None:
        return find("load_page.py", self.process.pid)


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
    """Start the experiment in `base`, a folder that all may enter and that is made; it is ended, whatever happens."""
    with ExitStack() as undo:
        for name, size in DISKS.values():
            (base / name).mkdir(parents=True)
            ran("mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", base / name, status=0)
            undo.callback(ran, "umount", "--lazy", base / name, status=0)
        chain_of_hosts(base, HOSTS)
        command = [sys.executable, ROOT / "tests" / "support" / "spoiled_experiment.py", "suspend",
                   "--dir", base, "--name", "small", "--delaynet", delaynet_ms, "--testruns", testruns, "--tfo", tfo,
                   "--retries", RETRIES, "--quiet", "0.1", "--timeout", "3", "--patience", "20"]
        output = undo.enter_context((base / "output").open("wb"))
        process = subprocess.Popen([*map(str, command)], stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True, env={**os.environ, "TMPDIR": str(base / "t")})
        try:
            yield Running(base, testruns, process)
        finally:
            process.terminate()
            process.wait()
