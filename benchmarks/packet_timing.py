#!/usr/bin/env python3
"""Measure the packet timing of a small star whose delay is made by netem or by the delay line, and print it as JSON.

A star of 20 servers, 50 ms each way, is taken through what page loads are made of:

    rtts_ms      TCP connect times from `user` to one server, 100 a second, for --seconds
    arrivals     1 MB from one server at 20 Mbit/s, --runs times: when which byte had come, in ms after connect()
                 (slow start: CUBIC, each time a new connection, nothing remembered of the last)
    finished_ms  20 connections at once, one to each server, 50 kB each: when each had all of it, --runs times

Run it by network_equivalence.py, which compares them. The network of the star is 20 Mbit/s, not 4, because there a
transfer is in slow start for five windows, and at 4 for two.
"""

import json
import multiprocessing
import platform
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from benchmarks.transfers import BULK_BYTES, SPEEDS, Arrivals
from harness.errors import ExperimentError
from harness.network.links import delayed_links
from harness.network.needs import check_programs
from harness.network.star import Star, running_star
from harness.system.contained import begin_experiment
from harness.system.lock import only_experiment
from harness.system.netns import inside
from harness.system.options import ROUNDS, Decimal, OptionParser
from harness.system.signals import run_interruptible
from harness.system.tcp import listen

SERVERS = 20
PORT, CLOSED_PORT = 8000, 9
FILE_BYTES = 50_000
REQUEST_BYTES = 8
TIMEOUT_S = 20.0


def main() -> int:
    """Print one JSON object."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("network", choices=["netem", "delay-line"])
    parser.add_argument("--seconds", type=Decimal(1, 3600), default=8.0, help="duration of the connects (%(default)s)")
    parser.add_argument("--runs", type=ROUNDS, default=8, help="runs of both kinds of transfers (%(default)s)")
    arguments = parser.parse_args()
    begin_experiment("benchmarks/packet_timing.py")
    check_programs()
    netem = arguments.network == "netem"
    with ExitStack() as stack:
        stack.enter_context(only_experiment())
        star = stack.enter_context(running_star([f"host{number}.test" for number in range(SERVERS)], SPEEDS, netem))
        stack.enter_context(delayed_links(star, SPEEDS, netem))
        rtts_ms = connect_times_ms(star, arguments.seconds)
        stack.enter_context(senders(star))
        stack.enter_context(inside(star.user.pid))
        addresses = [server.address for server in star.servers.values()]
        receive_from(addresses[:1], BULK_BYTES)             # warms up
        arrivals = [receive_from(addresses[:1], BULK_BYTES)[0] for _ in range(arguments.runs)]
        together = [receive_from(addresses, FILE_BYTES) for _ in range(arguments.runs)]
    json.dump({"network": arguments.network, "kernel": platform.release(), "rtts_ms": rtts_ms, "arrivals": arrivals,
               "finished_ms": [[arrivals[-1][0] for arrivals in run] for run in together]}, sys.stdout)
    return 0


def connect_times_ms(star: Star, seconds: float) -> list[float]:
    """Return the connect times to the first server, for `seconds`. Raises ExperimentError when they cannot be taken."""
    server = next(iter(star.servers.values()))
    command = [sys.executable, str(ROOT / "benchmarks" / "connect_times.py"), server.address, str(CLOSED_PORT)]
    with inside(star.user.pid):
        sampler = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with sampler:
        time.sleep(seconds)
        printed, _ = sampler.communicate(timeout=TIMEOUT_S)
    if sampler.returncode != 0:
        raise ExperimentError("connect_times.py failed")
    return [float(line.split()[1]) for line in printed.splitlines()]


@contextmanager
def senders(star: Star) -> Iterator[None]:
    """Have a process listen on all servers and send as many bytes as each connection asks for."""
    listeners = []
    for server in star.servers.values():
        with inside(server.pid):
            listeners.append(listen(server.address, PORT))
    process = multiprocessing.get_context("fork").Process(target=send_for_ever, args=(listeners,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
        for listener in listeners:
            listener.close()


def send_for_ever(listeners: list[socket.socket]) -> None:
    """Serve all connections of all `listeners` until killed."""
    with selectors.DefaultSelector() as selector:
        left: dict[socket.socket, int] = {}
        for listener in listeners:
            selector.register(listener, selectors.EVENT_READ, "listener")
        while True:
            for key, _ in selector.select():
                endpoint = key.fileobj
                assert isinstance(endpoint, socket.socket)
                if key.data == "listener":
                    connection, _ = endpoint.accept()
                    connection.setblocking(False)
                    selector.register(connection, selectors.EVENT_READ, "request")
                elif key.data == "request":
                    left[endpoint] = int.from_bytes(endpoint.recv(REQUEST_BYTES), "big")
                    selector.modify(endpoint, selectors.EVENT_WRITE, "answer")
                else:
                    left[endpoint] -= endpoint.send(bytes(min(left[endpoint], 1 << 17)))
                    if left[endpoint] <= 0:
                        selector.unregister(endpoint)
                        endpoint.close()


def receive_from(addresses: list[str], size: int) -> list[Arrivals]:
    """Get `size` bytes from each address, all at once over new connections; return for each when what had come.

    Raises ExperimentError when one is silent for 20 s or ends early.
    """
    arrivals: list[Arrivals] = [[] for _ in addresses]
    with ExitStack() as sockets, selectors.DefaultSelector() as selector:
        began_s = time.perf_counter()
        for index, address in enumerate(addresses):
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((address, PORT))
            selector.register(client, selectors.EVENT_WRITE, index)
        while selector.get_map():
            ready = selector.select(TIMEOUT_S)
            if not ready:
                raise ExperimentError("a transfer stopped")
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                if key.events == selectors.EVENT_WRITE:
                    key.fileobj.sendall(size.to_bytes(REQUEST_BYTES, "big"))
                    selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
                elif chunk := len(key.fileobj.recv(1 << 17)):
                    so_far = arrivals[key.data][-1][1] if arrivals[key.data] else 0
                    arrivals[key.data].append(((time.perf_counter() - began_s) * 1000, so_far + chunk))
                else:
                    selector.unregister(key.fileobj)
    if any(not received or received[-1][1] != size for received in arrivals):
        raise ExperimentError("a transfer ended early")
    return arrivals


if __name__ == "__main__":
    run_interruptible(main)
