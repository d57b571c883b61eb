"""How much memory processes use."""

import re
from collections.abc import Iterable
from pathlib import Path

from harness.errors import ExperimentError


def pss_bytes(pids: Iterable[int]) -> int:
    """Return the proportional set size of these processes together (proc(5), smaps_rollup).

    That of one is its own memory, and its share of what it shares with others. Raises ExperimentError when the kernel
    does not say it.
    """
    return sum(map(_pss_bytes, pids))


def _pss_bytes(pid: int) -> int:
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    if found is None:
        raise ExperimentError(f"/proc/{pid}/smaps_rollup: no PSS")
    return int(found[1]) * 1024
