#!/usr/bin/env python3
"""Measure the RTT to one address many times: begin a TCP connect at a steady pace and time each until it is answered.

delay_line.py runs it inside `user`'s network namespace, against a port nobody listens on: a refusal takes one round
trip as well, and leaves no trace in a server's log. It prints `began_s rtt_ms` for every answer (seconds of the
epoch, milliseconds) when its standard input ends. It runs with real-time priority (lower than the delay line's),
where that is allowed: what is measured is the network, not how long this program waits for a processor.
"""

import math
import os
import selectors
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import ExperimentError, run_main
from harness.system.options import PORT, Decimal, OptionParser

PRIORITY = 10
LAST_ANSWER_S = 2.0
"""How long to wait for the answers still under way at the end."""

Answer = tuple[float, float]
"""Seconds of the epoch when a connect began, and the ms until it was answered."""


def main() -> int:
    """Sample, then print."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=PORT)
    parser.add_argument("--pace-ms", type=Decimal(0.1, 60_000), default=10.0,
                        help="time between two connects in ms (%(default)s)")
    arguments = parser.parse_args()
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    for began_s, rtt_ms in sample((arguments.address, arguments.port), arguments.pace_ms / 1000):
        print(f"{began_s:.6f} {rtt_ms:.4f}")
    return 0


def sample(server: tuple[str, int], pace_s: float) -> list[Answer]:
    """Begin connects until standard input ends; return all answers.

    Raises ExperimentError when some are still wanting 2 s later.
    """
    answers: list[Answer] = []
    next_s, end_s = time.perf_counter(), math.inf
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        while selector.get_map() and (now_s := time.perf_counter()) < end_s:
            if next_s <= now_s:
                begin_connect(selector, server)
                next_s += pace_s
            for key, _ in selector.select(max(0.0, min(next_s, end_s) - time.perf_counter())):
                if key.fileobj is sys.stdin:
                    selector.unregister(sys.stdin)
                    next_s, end_s = math.inf, time.perf_counter() + LAST_ANSWER_S
                else:
                    answers.append(end_connect(selector, key))
        if wanting := len(selector.get_map()):
            raise ExperimentError(f"{wanting} connects to {server[0]} were not answered")
    return answers


def begin_connect(selector: selectors.BaseSelector, server: tuple[str, int]) -> None:
    """Send a SYN, and have the selector report its answer together with the time it was sent."""
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    client.setblocking(False)
    times = time.time(), time.perf_counter()
    client.connect_ex(server)
    selector.register(client, selectors.EVENT_WRITE, times)


def end_connect(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> Answer:
    """Return when the connect began, in seconds of the epoch, and the ms it took until now."""
    now_s = time.perf_counter()
    began_epoch_s, began_s = key.data
    selector.unregister(key.fileobj)
    key.fileobj.close()  # type: ignore[union-attr]
    return began_epoch_s, (now_s - began_s) * 1000


if __name__ == "__main__":
    run_main(main)
