#!/usr/bin/env python3
"""Measure the replay server: requests/s beside nginx. (How long servers take to start, and how much memory: scale.py.)

    benchmarks/server.py            # about 30 s; nginx is left out when it is not installed (apt install nginx-light)

The client is a process of its own: a new connection for each request, the whole answer read to its end. Every number is
a median of several rounds.
"""

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import ExperimentError, run_main
from harness.network.servers import HTTP_TFO
from harness.system.options import PORT, ROUNDS, OptionParser

HOST = "www.example.test"
FILE_SIZE = 9500
"""Bytes: a 9.5 KB file."""
REQUEST = f"GET /file.bin HTTP/1.1\r\nHost: {HOST}\r\nAccept: */*\r\nConnection: close\r\n\r\n".encode()
DEADLINE_S = 20.0
NGINX = """daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{ access_log {home}/access.log; client_body_temp_path {home}/1; proxy_temp_path {home}/2;
fastcgi_temp_path {home}/3; uwsgi_temp_path {home}/4; scgi_temp_path {home}/5; keepalive_timeout 0;
server {{ listen 127.0.0.1:{port} backlog=1024; root {root}; }} }}
"""


def main() -> int:
    """Run the benchmark, or be its client."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--requests", type=ROUNDS, default=3000, help="requests a round (default: %(default)s)")
    parser.add_argument("--rounds", type=ROUNDS, default=5, help="rounds a number (default: %(default)s)")
    parser.add_argument("--client", nargs=2, type=PORT, metavar=("PORT", "CONCURRENCY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        port, concurrency = options.client
        print(request_rate(port, concurrency, options.requests))
        return 0
    with tempfile.TemporaryDirectory(prefix="tfo-lab-benchmark-") as scratch:
        home = Path(scratch)
        home.chmod(0o755)
        make_mirror(home / "mirror")
        print(f"{'':34s}concurrency 1   concurrency 6   (requests/s, {FILE_SIZE} bytes, new connection each)")
        for name, running in (("http_tfo.py --http 1.0", replay(home, "1.0", "threaded")),
                              ("http_tfo.py --http 1.1 (closed)", replay(home, "1.1", "threaded")),
                              ("http_tfo.py --server 2013", replay(home, "1.0", "2013")), ("nginx", nginx(home))):
            if name == "nginx" and nginx_program() is None:
                print("nginx: not installed, left out")
                continue
            with running as port:
                rates = [measure(port, concurrency, options) for concurrency in (1, 6)]
            print(f"{name:34s}{rates[0]:13.0f}   {rates[1]:13.0f}")
    return 0


def make_mirror(mirror: Path) -> None:
    """Write the benchmark's mirror: one file."""
    (mirror / HOST).mkdir(parents=True)
    (mirror / HOST / "file.bin").write_bytes(b"x" * FILE_SIZE)
    mirror.chmod(0o755)


@contextmanager
def replay(home: Path, http: str, kind: str) -> Iterator[int]:
    """Run one replay server and yield its port."""
    port = free_port()
    argv: list[str | Path] = [
        HTTP_TFO, "--mirror", home / "mirror", "--host", HOST, "--port", str(port), "--http", http, "--server", kind,
        "--logdir", home / "logs"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            await_ready(process)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def nginx(home: Path) -> Iterator[int]:
    """Run an nginx of our own, with an access log as the replay server has, and yield its port."""
    port, config = free_port(), home / "nginx.conf"
    user = "user root; " if os.geteuid() == 0 else ""
    config.write_text(user + NGINX.format(home=home, port=port, root=home / "mirror" / HOST))
    with subprocess.Popen([nginx_program() or "nginx", "-p", home, "-c", config], stderr=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)


def measure(port: int, concurrency: int, options: argparse.Namespace) -> float:
    """Return the median rate of the rounds, in requests/s."""
    argv = [sys.executable, __file__, "--requests", str(options.requests), "--client", str(port), str(concurrency)]
    rates = []
    for _ in range(options.rounds):
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise ExperimentError(done.stderr.strip().rpartition("\n")[2])
        rates.append(float(done.stdout))
    return statistics.median(rates)


def request_rate(port: int, concurrency: int, requests: int) -> float:
    """Fetch the file `requests` times, by `concurrency` threads that each wait for their answer; return requests/s.

    Raises ExperimentError when one failed: it would count as a fast one, as would those that its thread left out.
    """
    failures: list[Exception] = []

    def fetch_share() -> None:
        try:
            for _ in range(requests // concurrency):
                fetch(port)
        except (OSError, ExperimentError) as failure:       # a thread's exception is otherwise lost
            failures.append(failure)

    fetch(port)
    threads = [threading.Thread(target=fetch_share) for _ in range(concurrency)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - begin
    if failures:
        raise ExperimentError(f"port {port}: a request failed: {failures[0]}")
    return requests // concurrency * concurrency / took_s


def fetch(port: int) -> None:
    """Fetch the file once over a new connection. Raises ExperimentError unless all of it came."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(REQUEST)
        size = 0
        while chunk := connection.recv(65536):
            size += len(chunk)
    if size < FILE_SIZE:
        raise ExperimentError(f"port {port} answered {size} bytes")


def free_port() -> int:
    """Return a port of 127.0.0.1 nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def nginx_program() -> str | None:
    """Return the path of nginx, which Debian keeps out of an ordinary user's PATH."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def await_ready(process: subprocess.Popen[str]) -> None:
    """Wait for the line the servers print when all listen. Raises ExperimentError when they end first."""
    if process.stdout is None or not process.stdout.readline().startswith("ready "):
        raise ExperimentError("the servers did not start")


def await_port(port: int) -> None:
    """Wait until somebody listens on `port` of 127.0.0.1. Raises ExperimentError after DEADLINE_S seconds."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise ExperimentError(f"nobody listens on port {port}")


if __name__ == "__main__":
    run_main(main)
