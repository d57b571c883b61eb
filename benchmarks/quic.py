#!/usr/bin/env python3
"""Measure what HTTP/3 costs the replay servers beside HTTP/2: processor time a connection, and a megabyte.

    benchmarks/quic.py

A client on loopback, over HTTP/2 and HTTP/3 in turns, with new sessions and with one that is taken up again: a small
answer on each of many connections, then a large one. The times are those of the server's process alone, medians.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.system.options import ROUNDS, OptionParser
from tests.support.http3_client import Visit, ask_over_http3, get
from tests.support.replay_process import free_port
from tests.support.secure_replay import BIG, Client, Secure, record, serving

CONNECTIONS = 20
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
LIMIT_S = 60.0


def main() -> int:
    """Print a table: what is spoken, ms a connection, ms a megabyte."""
    parser = OptionParser(description="Measure the processor time of the replay servers over HTTP/2 and HTTP/3.")
    parser.add_argument("--rounds", type=ROUNDS, default=5, help="how often each is measured (default: %(default)s)")
    rounds = parser.parse_args().rounds
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder))
        with serving(Path(folder), "--http", "h3", tls_port=port) as server:
            secure = Secure(server, port, Path(folder))
            [process] = server.children()
            session = _over_http3(secure, "/").tickets[0]
            ways: dict[str, Callable[[str], object]] = {
                "h2": lambda path: _over_http2(secure, path), "h3": lambda path: _over_http3(secure, path),
                "h3, resumed": lambda path: ask_over_http3(secure, get(path), session=session, limit_s=LIMIT_S)}
            found = [(name, _spent_ms(process, ask, "/", CONNECTIONS), _spent_ms(process, ask, "/big", 1))
                     for _ in range(rounds) for name, ask in ways.items()]
    print("spoken\tms a connection\tms a MB")
    for name in ways:
        connection_ms = statistics.median(each for spoken, each, _ in found if spoken == name)
        large_ms = statistics.median(each for spoken, _, each in found if spoken == name)
        print(f"{name}\t{connection_ms:.1f}\t{(large_ms - connection_ms) / len(BIG) * 1e6:.1f}")
    return 0


def _over_http2(secure: Secure, path: str) -> None:
    with secure.connect("h2") as connection:
        Client(connection).get(path)


def _over_http3(secure: Secure, path: str) -> Visit:
    return ask_over_http3(secure, get(path), limit_s=LIMIT_S)


def _spent_ms(process: int, ask: Callable[[str], object], path: str, times: int) -> float:
    """Return the processor time that the process spends on one of so many requests, each on a connection of its own."""
    before = _processor_ms(process)
    for _ in range(times):
        ask(path)
    return (_processor_ms(process) - before) / times


def _processor_ms(process: int) -> float:
    """Return the processor time of a process so far; see proc(5), fields 14 and 15."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_MS


if __name__ == "__main__":
    run_main(main)
