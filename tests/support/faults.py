"""Faults in a running experiment, made on purpose: which there are, how each is done to it from outside, and undone."""

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.system.processes import children_by_parent, descendants
from tests.support.leaks import content_of
from tests.support.ran import ran

CHOICE = os.environ.get("TFO_LAB_FAULTS") or str(random.randrange(10_000))
ALL = CHOICE == "all"
SEED = 0 if ALL else int(CHOICE)
PARTS: dict[str, tuple[str, bool | None]] = {
    "load_page.py": (r"load_page\.py ", True), "chromedriver": ("chromedriver ", None),
    "browser": ("(?!.*--type=).*--log-net-log", None), "network process": (r".*network\.mojom\.NetworkService", None),
    "renderer": (".*--type=renderer", None), "one server": (r".*http_tfo\.py", False),
    "the servers' parent": (r".*http_tfo\.py", True), "delay line": (r".*delay_line\.py", True)}
"""Processes of an experiment: how their name and command line begin, and whether tfo.py itself starts them."""
KILLED = ("experiment", *PARTS)
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
    ends: bool = False

    @property
    def lasts(self) -> bool:
        """Whether it is there until the load is over, and is undone then."""
        return self.what in ("freeze", "full disk", "no descriptors")

    def __str__(self) -> str:
        return f"{self.what} {self.part} {self.number}".replace(" ", "-")


FAULTS = (
    *(Fault("kill", part, number, part in ENDING) for part in KILLED for number in (1, 2)),
    *(Fault("stop", part) for part in KILLED),
    *(Fault("freeze", part) for part in ("one server", "delay line")),
    *(Fault("full disk", place, number, place == "results") for place in ("results", "temporary files")
      for number in (1, 2)),
    *(Fault("no descriptors", part, 1, part == "experiment")
      for part in ("experiment", "load_page.py", "browser", "one server")),
    Fault("suspend", "machine"),
)
SIGNALS = {"kill": signal.SIGKILL, "suspend": signal.SIGUSR1, "stop": signal.SIGSTOP, "freeze": signal.SIGSTOP}


def find(part: str, started_as: int) -> int | None:
    """Return the process of a part of the experiment that was started as a process; None while there is none.

    Between the experiment's process and that one is what keeps its processes together (harness.system.contained).
    """
    tree = children_by_parent()
    experiment = next((program for keeper in tree.get(started_as, ()) for program in tree.get(keeper, ())), None)
    if experiment is None or part not in PARTS:
        return experiment
    begins, is_child = PARTS[part]
    return next((pid for pid in sorted(descendants(experiment))
                 if is_child in (None, pid in tree.get(experiment, ()))
                 and re.match(begins, f"{name_of(pid)} {' '.join(command_of(pid))}")), None)


def name_of(pid: int) -> str:
    """Return what a process calls itself (proc(5), comm), "" when it has ended."""
    return content_of(f"/proc/{pid}/comm").decode(errors="replace").strip()


def command_of(pid: int) -> list[str]:
    """Return the words of a process's command line, an empty one when it has ended."""
    return content_of(f"/proc/{pid}/cmdline").decode(errors="replace").rstrip("\0").split("\0")


@contextmanager
def done_to(started_as: int, fault: Fault, disk: Path) -> Iterator[bool]:
    """Do the fault to the experiment, and undo it at the end; give whether there was something to do it to.

    `disk` is a folder that is a small disk of its own: what is to be full.
    """
    with ExitStack() as undo:
        pid = find(fault.part, started_as)
        try:
            if fault.what == "full disk":
                undo.enter_context(_filled(disk))
            elif pid:
                _do(fault, pid, undo)
        except ProcessLookupError:      # it has ended by itself
            pid = None
        yield fault.what == "full disk" or pid is not None


def _do(fault: Fault, pid: int, undo: ExitStack) -> None:
    if fault.what in SIGNALS:
        os.kill(pid, SIGNALS[fault.what])
        if SIGNALS[fault.what] == signal.SIGSTOP:
            undo.callback(_go_on, pid)
        if fault.what == "stop":
            time.sleep(STOP_S)
    else:
        try:
            limits = Path(f"/proc/{pid}/limits").read_text()    # prlimit(2) tells only of a process of one's own
        except FileNotFoundError:
            raise ProcessLookupError from None
        soft = re.search(r"Max open files +(\d+)", limits)
        assert soft
        undo.callback(limit, pid, f"--nofile={soft[1]}:")
        limit(pid, "--nofile=0:")


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def limit(pid: int, limits: str) -> None:
    """Change what a process may use (prlimit(1)) as its own user: root of a container may lack CAP_SYS_RESOURCE."""
    with suppress(FileNotFoundError):           # it has ended
        owner = Path(f"/proc/{pid}").stat()
        ran("setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "prlimit", "--pid", pid,
            limits)


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    """Leave no room in `folder`, a disk of its own, while this lasts."""
    file = folder / "filled"
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(SPARE_BYTES))
    yield
    file.unlink()
