"""What a test can leave behind on the machine, listed cheaply, so that before and after can be compared.

Other people's browsers and experiments may run meanwhile, so a process counts only when it is ours: it descends from
this process, or names this session's temporary directory in its environment or arguments. That finds orphans too, since
every program the tests start inherits TMPDIR, and Chrome gets a profile below it.
"""

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from harness.system.processes import descendants

TCP_FASTOPEN = Path("/proc/sys/net/ipv4/tcp_fastopen")
NAMED_NAMESPACES = Path("/run/netns")          # where `ip netns` keeps them (ip-netns(8))
NET, DEVICES = Path("/proc/thread-self/ns/net"), Path("/proc/thread-self/net/dev")
COUNTERS = re.compile(r"\[\d+:\d+\]")
WORTH_A_LINE = re.compile(r"-|:\S+ (?!ACCEPT)")   # rules, chains of somebody's own, and policies other than the default

NUL = b"\0"
LIBRARIES = (sys.prefix, "/usr/share/fonts", "/usr/lib")
MAY_GO = ("process", "file in TMPDIR", "thread", "descriptor", "child")
"""What may end or be removed at any time."""
PATIENCE_S = float(os.environ.get("TFO_LAB_LEAKS_MAY_TAKE_S", "60"))
"""So long it may take, on a busy machine. The detectors' own test does not wait for that."""

Snapshot = dict[str, frozenset[str]]
"""What there is, by kind; each item is one line that names it."""


def take_snapshot(scratch: Path, with_rules: bool = True) -> Snapshot:
    """List what a test could leave behind. `scratch` is the session's temporary directory. About 10 ms.

    iptables' rules, which take as long again, only `with_rules`: where a test may change them.
    """
    return {
        "process": frozenset(_processes(scratch)),
        "network namespace": _names(NAMED_NAMESPACES) | {f"of this thread: {NET.readlink()}"},
        "interface": frozenset(line.partition(":")[0].strip() for line in DEVICES.read_text().splitlines()[2:]),
        "iptables rule": frozenset((*_rules("iptables-save"), *_rules("ip6tables-save")) if with_rules else ()),
        "net.ipv4.tcp_fastopen": frozenset([TCP_FASTOPEN.read_text().strip()] if TCP_FASTOPEN.exists() else []),
        "file in TMPDIR": _names(scratch),
    }


def take_own_snapshot() -> Snapshot:
    """List what a test could leave behind in this process: threads, descriptors, sockets, children. About 0.2 ms."""
    return {
        "thread": frozenset(f"{thread.name} ({thread.native_id})" for thread in threading.enumerate()),
        "descriptor": frozenset(_descriptors()),
        "child": frozenset(_children()),
    }


def find_leaks(before: Snapshot, take: Callable[[], Snapshot], patience_s: float = PATIENCE_S) -> list[str]:
    """Return one line for each thing that was not there in `before`, or is there no longer; empty when all is clean.

    What is garbage is collected. A process that was told to end, or a namespace whose last process just ended, has
    `patience_s` to be gone.
    """
    deadline_s = time.monotonic() + patience_s
    while leaks := _differences(before, take()):
        if time.monotonic() > deadline_s:
            break
        if not gc.collect():
            time.sleep(0.1)
    return leaks


def _differences(before: Snapshot, after: Snapshot) -> list[str]:
    lines = []
    for kind, items in after.items():
        lines += [f"{kind} left behind: {item}" for item in sorted(items - before[kind])]
        if kind not in MAY_GO:
            lines += [f"{kind} gone: {item}" for item in sorted(before[kind] - items)]
    return lines


def _descriptors() -> Iterator[str]:
    """List this process's descriptors, sockets too, but for what libraries keep open of their own: fonts."""
    for number in os.listdir("/proc/self/fd"):              # noqa: PTH208 (a Path for each takes half of the time)
        with suppress(OSError):                             # the one that lists them
            target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            if not target.startswith(LIBRARIES):
                yield f"{number} -> {target}"


def _children() -> Iterator[str]:
    """List this process's children, those that ended and were not waited for included (proc(5), task/TID/children)."""
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):                             # a thread that has just ended
            for pid in path.read_text().split():
                yield f"{pid} {content_of(f'/proc/{pid}/comm').decode(errors='replace').strip()}"


def _names(directory: Path) -> frozenset[str]:
    return frozenset(path.name for path in directory.glob("*"))     # of none at all none


def _rules(program: str) -> Iterator[str]:
    """List iptables' rules without their counters; nothing when it is not installed or not ours to ask."""
    if os.geteuid() != 0 or not shutil.which(program):
        return
    table = ""
    answer = subprocess.run([program], capture_output=True, text=True, check=False)
    for line in answer.stdout.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif WORTH_A_LINE.match(line):
            yield f"{program.removesuffix('-save')} -t {table} {COUNTERS.sub('', line).strip()}"


def _processes(scratch: Path) -> Iterator[str]:
    """List our processes but this one, each as its pid and command line. The kernel's own have no words."""
    ours, marker = descendants(os.getpid()), os.fsencode(scratch)
    for pid in set(map(int, filter(str.isdecimal, _names(Path("/proc"))))) - {os.getpid()}:
        arguments = content_of(f"/proc/{pid}/cmdline")
        if arguments and (pid in ours or marker in arguments or marker in content_of(f"/proc/{pid}/environ")):
            yield f"{pid}: {arguments.replace(NUL, b' ').decode(errors='replace').strip()[:200]}"


def content_of(path: str) -> bytes:
    """Return a file's content; nothing of another user's process, or of one that has ended."""
    try:
        with open(path, "rb", buffering=0) as file:         # noqa: PTH123 (a Path for each takes half of the time)
            return file.read()
    except OSError:
        return b""
