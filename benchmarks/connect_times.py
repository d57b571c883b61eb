"""Measures the RTT to one address many times: begins a TCP connect at a steady pace, and times each until its answer.

That is done in a process of its own with real-time priority (lower than the delay line's), where that is allowed: what
is measured is the network, not how long this program waits for a processor.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from harness.errors import ExperimentError
from harness.network.rtt import connect
from harness.system.namespaces import inside
from harness.system.privileges import as_root

PRIORITY = 10
PACE_S = 0.010
AT_ONCE = 100
"""Connects under way together, at most."""

Answer = tuple[float, float]
"""Seconds of the epoch when a connect began, and the ms until it was answered."""


@contextmanager
def connecting(pid: int, server: tuple[str, int]) -> Iterator[list[Answer]]:
    """Connect to `server` again and again while this lasts, from the network of `pid`; the answers are there then.

    Nobody has to listen: a refusal takes one round trip as well, and leaves no trace in a server's log. Raises
    ExperimentError when some are not answered (harness.network.rtt).
    """
    fork, answers = multiprocessing.get_context("fork"), list[Answer]()
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_sample, args=(pid, server, theirs))
    process.start()
    theirs.close()
    try:
        yield answers
        ours.send(None)
        answers += ours.recv()
    except EOFError:
        raise ExperimentError(f"connects to {server[0]} were not answered") from None
    finally:
        process.kill()
        process.join()


def _sample(pid: int, server: tuple[str, int], until: Connection) -> None:
    with suppress(PermissionError), as_root():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    # Its threads have the network and the priority of this one, which makes them.
    with inside(pid), ThreadPoolExecutor(AT_ONCE) as pool:
        begun = []
        while not until.poll(PACE_S):
            begun.append(pool.submit(_connect, server))
        until.send([answer.result() for answer in begun])


def _connect(server: tuple[str, int]) -> Answer:
    began_epoch_s, began_s = time.time(), time.perf_counter()
    connect(server)
    return began_epoch_s, (time.perf_counter() - began_s) * 1000
