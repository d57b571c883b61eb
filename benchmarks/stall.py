#!/usr/bin/env python3
"""Stop a part of a running experiment in the middle of a page load, and let it go on: a stall made on purpose.

benchmarks/disturbed.py starts it beside a load. It waits for the load's first packet, then for a moment, sends SIGSTOP
to every process of the part, and SIGCONT after the stall. It prints when the stall began, in s since the epoch, and
how many processes stood still.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from benchmarks.stalled_parts import MARKS, PARTS
from harness.system.options import STALL_MS, OptionParser, Whole
from harness.system.processes import descendants
from harness.system.signals import run_interruptible

POLL_S = 0.002
PATIENCE_S = 30.0


def main() -> int:
    """Make the stall; the exit status is 1 when there was no packet or no such process."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--below", type=Whole(1, 2**22), required=True, help="pid of the experiment")
    parser.add_argument("--network-of", type=Whole(1, 2**22), required=True,
                        help="pid of a process in user's network namespace")
    parser.add_argument("--host", default="", help="which server to stop, for 'one server'")
    parser.add_argument("--after-ms", type=STALL_MS, required=True, help="ms from the first packet to the stall")
    parser.add_argument("--stall-ms", type=STALL_MS, required=True)
    arguments = parser.parse_args()
    counts = Path(f"/proc/{arguments.network_of}/net/dev")
    if not wait_for_packet(counts):
        return 1
    time.sleep(arguments.after_ms / 1000)
    pids = find(arguments.part, arguments.below, arguments.host)
    began_s = time.time()
    try:
        send(pids, signal.SIGSTOP)
        time.sleep(arguments.stall_ms / 1000)
    finally:        # whatever ends us, Ctrl-C say: nobody else lets them go on
        send(pids, signal.SIGCONT)
    print(f"{began_s:.6f} {len(pids)}")
    return 0 if pids else 1


def wait_for_packet(counts: Path) -> bool:
    """Wait until the interface of `user` counts another packet."""
    before, deadline = packets(counts), time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if packets(counts) != before:
            return True
        time.sleep(POLL_S)
    return False


def packets(counts: Path) -> int:
    """Return how many packets left through interfaces other than the loopback."""
    lines = [line.split() for line in counts.read_text().splitlines() if ":" in line]
    return sum(int(fields[10]) for fields in lines if not fields[0].startswith("lo:"))


def find(part: str, below: int, host: str) -> list[int]:
    """Return the processes of a part of the experiment whose process is `below`."""
    own = {os.getpid(), os.getppid()} - {below}
    pids = sorted(descendants(below) - own)
    if part == "everything":
        return [below, *pids]
    lines = {pid: command_line(pid) for pid in pids}
    found = [pid for pid, line in lines.items() if MARKS[part] in line]
    if part == "one server":
        return [pid for pid in found if serves(pid, host)]
    return found


def serves(pid: int, host: str) -> bool:
    """Tell whether a process holds the log file of `host` open, as its server does."""
    try:
        return any(entry.readlink().name == host for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def command_line(pid: int) -> str:
    """Return a process's command line, "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to all of them that still run."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


if __name__ == "__main__":
    run_interruptible(main)
