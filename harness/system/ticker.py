"""A clock that ticks beside a load: what it misses, other programs on this machine missed, too.

Every few milliseconds a thread of this process wakes up. It notes when it woke late, how busy the machine was, how long
processes of the load waited for a processor, and whether one stood stopped (SIGSTOP, a debugger): all of that looks
just like a slow page otherwise. Where it may, it runs with real-time priority: when it is late, all are.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from harness.system.background import beside
from harness.system.environment import MS_PER_TICK, read_pressure
from harness.system.privileges import as_root
from harness.system.processes import descendants, stat_of

TICK_S = 0.01
LOOK_S = 0.02
"""So often it looks at the processes: one that stands stopped for 100 ms is seen at least four times."""
SAMPLE_S = 0.1
"""So often it reads the machine's pressure and the processes' times. Between two readings counts grow evenly."""
READ_S = 0.001
"""Time between two readings for each process besides the load's own: reading one takes a fiftieth of that, and an
experiment may have a thousand servers."""
SEARCH_S = 0.5
"""So often it looks for new processes: that costs 3 ms of a processor for 150 processes on the machine."""
BEFORE_ITS_NAME = "(zygote)"
"""What Chrome's processes are called just after their fork."""
LEAST_GAP_MS = 5.0
"""Less is not noted: an ordinary thread is often that late on a busy machine."""
REALTIME_PRIORITY = 1
"""The lowest there is: below the delay line's."""
STOPPED = ([b"T"], [b"t"])
"""States of proc(5): stopped by a signal, stopped by a debugger."""


@dataclass
class Ticks:
    """What the ticker noted. Times in s since the epoch.

    `gaps` are (when it should have ticked, ms it was late). `counts` have for each count in ms how far it was when: of
    the machine (`read_pressure`) as process 0, "worked" of each process of the experiment (it had a processor), and, of
    those of the load, "waited" (the main thread waited for one) and "stopped". `names` say what the load's processes
    are.
    """

    gaps: list[tuple[float, float]] = field(default_factory=list)
    counts: dict[str, dict[int, list[tuple[float, float]]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def note(self, now_s: float, pid: int, **counts_ms: float) -> None:
        """Note how far counts of a process are."""
        for what, so_far_ms in counts_ms.items():
            self.counts.setdefault(what, {}).setdefault(pid, []).append((now_s, so_far_ms))

    def grown_ms(self, what: str, start_s: float, end_s: float) -> dict[int, float]:
        """Return by how much a count of each process grew between two moments: evenly between two readings."""
        grown_ms = {}
        for pid, counts in self.counts.get(what, {}).items():
            at_s, so_far_ms = zip(*counts, strict=True)
            before_ms, after_ms = np.interp((start_s, end_s), at_s, so_far_ms)
            grown_ms[pid] = float(after_ms - before_ms)
        return grown_ms

    def largest_gap_ms(self, start_s: float, end_s: float) -> float:
        """Return by how much it was late at most, between two moments."""
        return max((max(0.0, min(at + late_ms / 1000, end_s) - max(at, start_s)) * 1000 for at, late_ms in self.gaps),
                   default=0.0)

    def stopped_ms(self, start_s: float, end_s: float) -> dict[str, float]:
        """Return for how long the processes of each name stood stopped between two moments, those that did at all.

        Of several of a name, the one that stood longest.
        """
        stopped = sorted((ms, self.names[pid]) for pid, ms in self.grown_ms("stopped", start_s, end_s).items())
        return {name: ms for ms, name in stopped if ms > 0}


class _Watched:
    """The processes that are looked at: those of the load run below this one and did not when the ticker started."""

    def __init__(self, ticks: Ticks) -> None:
        self._ticks, self._looked_s = ticks, time.time()
        self._stopped_ms: dict[int, float] = {}
        self._beside = descendants(os.getpid()) | {os.getpid()}
        self._of_load: set[int] = set()

    @property
    def pause_s(self) -> float:
        """How long to wait between two readings of the times of all processes."""
        return max(SAMPLE_S, READ_S * len(self._beside))

    def find(self, _now_s: float) -> None:
        """Take up the processes that are new, and learn names: a process of Chrome gets its own after its fork."""
        self._of_load = descendants(os.getpid()) - self._beside
        for pid in self._of_load:       # to read a command line may take long, of a process that has no processor
            if self._ticks.names.get(pid, BEFORE_ITS_NAME).endswith(BEFORE_ITS_NAME):
                self._ticks.names[pid] = process_name(pid)

    def look(self, now_s: float) -> None:
        """Note which processes of the load stand stopped: since the last look."""
        for pid in self._of_load:
            if stat_of(pid)[:1] in STOPPED:
                so_far_ms = self._stopped_ms.get(pid, 0.0)
                self._ticks.note(self._looked_s, pid, stopped=so_far_ms)
                self._stopped_ms[pid] = so_far_ms + (now_s - self._looked_s) * 1000
                self._ticks.note(now_s, pid, stopped=self._stopped_ms[pid])
        self._looked_s = now_s

    def read_times(self, now_s: float) -> None:
        """Note how long each process has worked so far, those of the load also how long they waited for a processor.

        These began with 0.
        """
        for pid in self._beside | self._of_load:
            with suppress(OSError, IndexError):     # it may end at any moment
                so_far_ms = {"worked": worked_ms(stat_of(pid))}
                if pid in self._of_load:
                    so_far_ms["waited"] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e6
                    if pid not in self._ticks.counts.get("worked", {}):
                        self._ticks.note(now_s - SEARCH_S, pid, worked=0.0, waited=0.0)
                self._ticks.note(now_s, pid, **so_far_ms)


def worked_ms(stat: Sequence[bytes]) -> float:
    """Return how long a process had processors so far, in ms, by /proc/PID/stat: utime and stime of all its threads.

    Of a nice one, as Chrome is in experiments/localhost.py, and all are after `sudo nice ./run.sh`, stime alone: the
    machine's count of busy processors (harness.system.environment) has no more of it.
    """
    is_nice = int(stat[16]) > 0         # by which the kernel counts "user" or "nice", whatever nice value we have
    return (int(stat[12]) + (0 if is_nice else int(stat[11]))) * MS_PER_TICK


def process_name(pid: int) -> str:
    """Return the program's name, and of Chrome's processes what they are for: "chrome (renderer)"."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").split()
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return f"process {pid}"
    options = dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)
    purpose = options.get("--utility-sub-type", options.get("--type", "")).partition(".")[0]
    return f"{name} ({purpose})" if purpose else name


@contextmanager
def ticking() -> Iterator[Ticks]:
    """Tick beside whatever happens while this lasts; at its end the ticks are complete.

    Raises OSError at its end when they are not, since nothing could be read any more.
    """
    ticks = Ticks()
    with beside(partial(_tick, ticks, _Watched(ticks)), "ticker"):
        yield ticks


def _tick(ticks: Ticks, watched: _Watched, ended: threading.Event) -> None:
    with suppress(PermissionError), as_root():      # no CAP_SYS_NICE: then its gaps also tell of programs that compute
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    def read_machine(now_s: float) -> None:
        ticks.note(now_s, 0, **read_pressure())

    duties = {watched.find: SEARCH_S, read_machine: SAMPLE_S, watched.read_times: watched.pause_s, watched.look: LOOK_S}
    next_s = dict.fromkeys(duties, 0.0)
    while not ended.is_set():
        due_s = time.monotonic() + TICK_S - time.thread_time()
        for do, every_s in duties.items():      # here, too, the machine may stand still: their work is no gap
            if time.monotonic() >= next_s[do]:
                next_s[do] = time.monotonic() + every_s
                do(time.time())
        ended.wait(TICK_S)
        late_ms = (time.monotonic() - due_s - time.thread_time()) * 1000
        if late_ms >= LEAST_GAP_MS:
            ticks.gaps.append((time.time() - late_ms / 1000, late_ms))
    read_machine(time.time())       # once more
    watched.read_times(time.time())
