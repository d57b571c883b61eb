"""Faults in a running experiment, made on purpose: which there are, how each is done to it from outside, and undone."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.system.processes import children_by_parent, descendants

CHOICE = os.environ.get("TFO_LAB_FAULTS") or str(random.randrange(10_000))
ALL = CHOICE == "all"
SEED = 0 if ALL else int(CHOICE)
KILLED = ("experiment", "load_page.py", "chromedriver", "browser", "network process", "renderer", "one server",
          "the servers' parent", "delay line")
"""The nine kinds of process."""
ENDING = frozenset(("experiment", "one server", "the servers' parent", "delay line"))
"""Killed, they end the experiment; the others only a load."""
STOP_S = 0.3
SPARE_BYTES = 4096


@dataclass(frozen=True)
class Fault:
    """What is done to which part. `number` tells apart the same at several moments. `ends`: the experiment with it."""

    what: str
    part: str
    number: int = 1

    @property
    def ends(self) -> bool:
        """Whether no load can follow."""
        return (self.what, self.part) in {*(("kill", part) for part in ENDING), ("full disk", "results"),
                                          ("no descriptors", "experiment")}

    @property
    def lasts(self) -> bool:
        """Whether it is there until the load is over, and is undone then."""
        return self.what in ("freeze", "full disk", "no descriptors")

    def __str__(self) -> str:
        return f"{self.what} {self.part} {self.number}".replace(" ", "-")


FAULTS = (
    *(Fault("kill", part, number) for part in KILLED for number in (1, 2)),
    *(Fault("stop", part) for part in KILLED),
    *(Fault("freeze", part) for part in ("one server", "delay line")),
    *(Fault("full disk", place, number) for place in ("results", "temporary files") for number in (1, 2)),
    *(Fault("no descriptors", part) for part in ("experiment", "load_page.py", "browser", "one server")),
    Fault("suspend", "machine"),
)


@dataclass(frozen=True)
class Target:
    """A running experiment: the process of tfo.py, and its folders, each a small disk of its own."""

    pid: int
    results: Path
    temporary: Path


def experiment_of(pid: int) -> int | None:
    """Return the process that does the work of tfo.py, which was started as `pid`; None while there is none.

    Between them is what keeps the experiment's processes together (harness.system.contained).
    """
    tree = children_by_parent()
    return next((program for keeper in tree.get(pid, ()) for program in tree.get(keeper, ())), None)


def find(part: str, started_as: int) -> int | None:
    """Return the process of a part of the experiment that was started as a process; None while there is none."""
    pid = experiment_of(started_as)
    if pid is None or part in ("experiment", "machine"):
        return pid
    if part == "load_page.py":
        return load_of(started_as)
    tree = children_by_parent()
    for candidate in sorted(descendants(pid)):
        words = command_of(candidate)
        if words and _is_part(part, words, candidate in tree.get(pid, ())):
            return candidate
    return None


def _is_part(part: str, words: list[str], is_child: bool) -> bool:
    """Tell by its command line what a process is; `is_child`: tfo.py itself started it."""
    line = " ".join(words)
    marks: dict[str, Callable[[], bool]] = {
        "chromedriver": lambda: Path(words[0]).name == "chromedriver",
        "browser": lambda: "--log-net-log" in line and "--type=" not in line,
        "network process": lambda: "network.mojom.NetworkService" in line,
        "renderer": lambda: "--type=renderer" in line,
        "one server": lambda: not is_child and "http_tfo.py" in line,
        "the servers' parent": lambda: is_child and "http_tfo.py" in line,
        "delay line": lambda: is_child and "delay_line.py" in line,
    }
    return marks[part]()


def load_of(started_as: int) -> int | None:
    """Return the process of the load that the experiment makes just now, by its name; None if it makes none."""
    children = children_by_parent().get(experiment_of(started_as) or 0, ())
    return next((child for child in children if name_of(child) == "load_page.py"), None)


def name_of(pid: int) -> str:
    """Return what a process calls itself (proc(5), comm), "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def command_of(pid: int) -> list[str]:
    """Return the words of a process's command line, none when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


@contextmanager
def done_to(target: Target, fault: Fault) -> Iterator[bool]:
    """Do the fault to the experiment, and undo it at the end; give whether there was something to do it to."""
    with ExitStack() as undo:
        if fault.what == "full disk":
            undo.enter_context(_filled(target.results if fault.part == "results" else target.temporary))
            yield True
            return
        pid = find(fault.part, target.pid)
        if pid is None:
            yield False
            return
        try:
            _do(fault, pid, undo)
        except ProcessLookupError:      # it has ended by itself
            yield False
            return
        yield True


def _do(fault: Fault, pid: int, undo: ExitStack) -> None:
    if fault.what == "kill":
        os.kill(pid, signal.SIGKILL)
    elif fault.what == "suspend":
        os.kill(pid, signal.SIGUSR1)
    elif fault.what in ("stop", "freeze"):
        os.kill(pid, signal.SIGSTOP)
        undo.callback(_signal, pid, signal.SIGCONT)
        if fault.what == "stop":
            time.sleep(STOP_S)
    else:
        undo.callback(_limit_files, pid, f"{_file_limit(pid)}:")
        _limit_files(pid, "0:")


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _file_limit(pid: int) -> int:
    """Return how many files a process may have open (soft limit). prlimit(2) tells only of a process of one's own."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    except FileNotFoundError:
        raise ProcessLookupError from None
    return next(int(line.split()[3]) for line in lines if line.startswith("Max open files"))


def _limit_files(pid: int, limits: str) -> None:
    """Change how many files a process may have open, as its own user, which needs no capability."""
    with suppress(FileNotFoundError):           # it has ended
        owner = Path(f"/proc/{pid}").stat()
        subprocess.run(["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "prlimit",
                        "--pid", str(pid), f"--nofile={limits}"], check=False, capture_output=True)


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    """Leave no room in `folder`, a disk of its own, while this lasts."""
    file = folder / "filled"
    try:
        with file.open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(SPARE_BYTES))
        yield
    finally:
        file.unlink()
