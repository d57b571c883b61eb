"""A limit to this process's memory, for as long as it reads what somebody may have made to fill it.

A few MB of zeros, compressed, are gigabytes; a HAR of 64 MB can hold 20 million lists. No reader of such formats has a
limit of its own for all of it together, so the kernel sets one: beyond it Python gets no more, and says MemoryError.
"""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

from harness.system.untrusted import UnreadableFileError

MOST_MEMORY = 3 * 2**30
"""Bytes. The largest HARs known take a tenth of it."""


@contextlib.contextmanager
def bounded_memory(path: Path, limit: int = MOST_MEMORY) -> Iterator[None]:
    """Let this process take `limit` bytes more than it has at most; raise UnreadableFileError for `path` beyond them.

    Not for several threads at a time, nor around the start of Chrome, which would inherit the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    wanted = pages * resource.getpagesize() + limit
    present = [present for present in (soft, hard) if present != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *present]), hard))
    try:
        yield
    except MemoryError:
        raise UnreadableFileError(path, f"it takes more than {limit / 2**30:g} GB of memory") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
