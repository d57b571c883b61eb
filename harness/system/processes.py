"""Processes: run a command to its end, end one of ours by its own pid, see which there are below one, and have one end
with its parent.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import ExperimentError
from harness.system.libc import call
from harness.system.privileges import as_root

PR_SET_PDEATHSIG = 1
HIGHEST_PRIORITY = -20
"""nice(2); only root may take it."""
KILLED_S = 3.0
"""At least so long a process that was sent SIGKILL may take to be gone: on a busy machine it has to wait for that."""
STAT_BYTES = 1024
"""More than /proc/PID/stat has (proc(5))."""
PROC = Path("/proc")


def bound_to_us(command: Sequence[str]) -> list[str]:
    """Return `command` as one that the kernel kills when this process dies (setpriv(1)), from its first moment on.

    For programs that may not make a PID namespace (harness.system.contained): without root, say. SIGKILL, since a
    process that stands stopped takes no other signal. A fork and a change of user undo that (`die_with_parent`).
    """
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent dies (prctl(2), PR_SET_PDEATHSIG); end if `parent` is gone."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def terminate_as_interrupt() -> None:
    """Have SIGTERM raise KeyboardInterrupt, as Ctrl-C does: programs that run until they are ended unwind alike."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def signal_as_root(send: Callable[[int], None], number: int) -> None:
    """Have `send` send a signal to a process of ours that may be root's, or may not have given root up yet."""
    with as_root():
        send(number)


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes], patience_s: float = 3.0) -> None:
    """End `process` by SIGTERM, or SIGKILL after `patience_s` seconds, and reap it."""
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, max(patience_s, KILLED_S))):
        if process.poll() is not None:
            break
        signal_as_root(process.send_signal, number)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def stat_of(pid: int | str, proc: Path = PROC) -> list[bytes]:
    """Return what /proc/PID/stat says behind the name, which may hold anything (proc(5)); [] of one that has ended."""
    try:        # without pathlib, which takes three times as long: this is done several times in each load
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(STAT_BYTES).rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []       # without a descriptor nobody knows: that is the caller's error


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended; a zombie has."""
    return stat_of(pid)[:1] not in ([], [b"Z"], [b"X"])


def children_by_parent(proc: Path = PROC) -> dict[int, list[int]]:
    """Return the process tree as {parent pid: [child pids]}, of all processes that `proc` shows."""
    tree: dict[int, list[int]] = {}
    for name in os.listdir(proc):  # noqa: PTH208 (without a Path for each)
        if name.isdigit() and (stat := stat_of(name, proc)):
            tree.setdefault(int(stat[1]), []).append(int(name))
    return tree


def descendants(pid: int, proc: Path = PROC) -> set[int]:
    """Return all processes below `pid`, of those that `proc` shows."""
    tree = children_by_parent(proc)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        children = tree.get(waiting.pop(), [])
        found.update(children)
        waiting.extend(children)
    return found


TIMEOUT_S = 20.0


def run(command: Sequence[str], what: str, given: str | None = None) -> str:
    """Run `command` to its end and return what it printed.

    `what` names the purpose and `given` is its standard input. Raises ExperimentError with the purpose, the command,
    its exit status and its error output when it fails or takes over 20 s.
    """
    line = " ".join(command)
    try:
        # close_fds: ours are all close-on-exec (PEP 446), and closing thousands of them one by one takes long: a star
        # of 1000 hosts has 2000 terminals open.
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                              close_fds=False)
    except FileNotFoundError:
        raise ExperimentError(f"{what}: {command[0]} is not installed; run scripts/setup.sh") from None
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"{what}: `{line}` did not end in {TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise ExperimentError(f"{what}: `{line}` exited with {done.returncode}: {said}")
    return done.stdout
