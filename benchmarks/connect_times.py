"""Measures the RTT to one address many times: begins a TCP connect at a steady pace, and times each until its answer.

That is done in a process of its own with real-time priority (lower than the delay line's), where that is allowed: what
is measured is the network, not how long this program waits for a processor.
"""

import math
import multiprocessing
import os
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from harness.errors import ExperimentError
from harness.system.namespaces import inside
from harness.system.privileges import as_root

PRIORITY = 10
PACE_S = 0.010
LAST_ANSWER_S = 2.0
"""How long to wait for the answers still under way at the end."""

Answer = tuple[float, float]
"""Seconds of the epoch when a connect began, and the ms until it was answered."""


@contextmanager
def connecting(pid: int, server: tuple[str, int]) -> Iterator[list[Answer]]:
    """Connect to `server` again and again while this lasts, from the network of `pid`; the answers are there then.

    Nobody has to listen: a refusal takes one round trip as well, and leaves no trace in a server's log. Raises
    ExperimentError when some are not answered within LAST_ANSWER_S.
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
    answers: list[Answer] = []
    next_s, end_s = time.perf_counter(), math.inf
    with inside(pid), selectors.DefaultSelector() as selector:
        selector.register(until, selectors.EVENT_READ)
        while selector.get_map() and (now_s := time.perf_counter()) < end_s:
            if next_s <= now_s:
                _begin(selector, server)
                next_s += PACE_S
            for key, _ in selector.select(max(0.0, min(next_s, end_s) - time.perf_counter())):
                if key.fileobj is until:
                    selector.unregister(until)
                    next_s, end_s = math.inf, time.perf_counter() + LAST_ANSWER_S
                else:
                    answers.append(_end(selector, key))
        if not selector.get_map():
            until.send(answers)


def _begin(selector: selectors.BaseSelector, server: tuple[str, int]) -> None:
    """Send a SYN, and have the selector report its answer together with the time it was sent."""
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    client.setblocking(False)
    times = time.time(), time.perf_counter()
    client.connect_ex(server)
    selector.register(client, selectors.EVENT_WRITE, times)


def _end(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> Answer:
    now_s = time.perf_counter()
    began_epoch_s, began_s = key.data
    selector.unregister(key.fileobj)
    key.fileobj.close()  # type: ignore[union-attr]
    return began_epoch_s, (now_s - began_s) * 1000
