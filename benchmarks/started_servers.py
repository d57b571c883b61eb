"""Servers that a benchmark starts: a port for one, the nginx that is installed, and the wait until one listens."""

import os
import shutil
import socket
import subprocess
import time

from harness.errors import ExperimentError

DEADLINE_S = 20.0


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
