"""Stops a part of a running experiment in the middle of a page load, and lets it go on: a stall made on purpose.

benchmarks/disturbed.py starts it beside a load, in a process of its own. It waits for the load's first packet, then for
a moment, sends SIGSTOP to every process of the part, and SIGCONT after the stall.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from harness.browser.page import packets
from harness.network.star import Host
from harness.system.namespaces import inside
from harness.system.processes import descendants

MARKS = {"delay line": "delay_line.py", "one server": "http_tfo.py", "all servers": "http_tfo.py",
         "network process": "network.mojom.NetworkService", "renderer": "--type=renderer", "everything": ""}
"""What stands in the command lines of a part's processes, by the part's name."""
POLL_S = 0.002
PATIENCE_S = 30.0


def make_stall(part: str, below: int, user: Host, host: str, *, after_ms: float, stall_ms: float) -> None:
    """Stop a part of the experiment whose process is `below` for `stall_ms`, so long after the load's first packet.

    It is counted at the interface of `user`. Of "one server" that of `host` is stopped. Ends this process with 1 when
    there was no packet, or is no such process.
    """
    wait_for_packet(user)
    time.sleep(after_ms / 1000)
    pids = find(part, below, host)
    try:
        send(pids, signal.SIGSTOP)
        time.sleep(stall_ms / 1000)
    finally:        # whatever ends us, Ctrl-C say: nobody else lets them go on
        send(pids, signal.SIGCONT)
    if not pids:
        sys.exit(1)


def wait_for_packet(user: Host) -> None:
    """Wait until the interface of `user` counts another packet; end this process with 1 when none comes."""
    deadline = time.monotonic() + PATIENCE_S
    with inside(user.pid):
        before = packets(user.interface)
        while packets(user.interface) == before:
            if time.monotonic() > deadline:
                sys.exit(1)
            time.sleep(POLL_S)


def find(part: str, below: int, host: str) -> list[int]:
    """Return the processes of a part of the experiment whose process is `below`."""
    pids = [pid for pid in sorted(descendants(below) - {os.getpid()}) if MARKS[part] in command_line(pid)]
    if part == "one server":
        return [pid for pid in pids if serves(pid, host)]
    return [below, *pids] if part == "everything" else pids


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
