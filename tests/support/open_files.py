"""As many open files as an experiment of some hundred hosts has."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

SELECTABLE = 1024
"""select(2) takes descriptors below this one."""


@contextmanager
def many_open_files() -> Iterator[None]:
    """Have whatever is opened meanwhile get a descriptor that select() does not take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * SELECTABLE), hard))
    opened = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while opened[-1] < SELECTABLE:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
