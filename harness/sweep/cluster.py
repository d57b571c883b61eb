"""Where a sweep's units go: a scheduler and a worker of this machine's own, or a scheduler that is there already.

    root:       ./sweep.py  --starts-->  scripts/worker.sh
    the user:   ./sweep.py, having given up root  --starts-->  scheduler

This machine's worker runs as root, so it is started first, before root is given up. It reads the scheduler's address
from a file. It ends when the pipe to its standard input is closed, which happens however the driver dies.
"""

import argparse
import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import last_line
from harness.sweep.scheduler import AGAIN_S, CONNECT_S
from harness.sweep.trust import as_tls, security
from harness.system.atomic import write_atomically
from harness.system.options import plain
from harness.system.privileges import acting_as, invoking_user
from harness.system.processes import bound_to_us, stop

START_S = 30.0
"""How long the scheduler may take to say where it listens."""
ENDING_S = 60.0
"""How long the worker may take to end: tfo.py cleans up."""


def worker_words(options: argparse.Namespace) -> list[str]:
    """Return the options of a worker that ends with the driver."""
    return ["--until-eof", "--wait", plain(options.wait), "--patience", plain(options.patience),
            *([] if options.calibration else ["--no-calibration"])]


@contextlib.contextmanager
def local_worker(folder: SweepFolder, tls: Path, options: argparse.Namespace) -> Iterator["subprocess.Popen[bytes]"]:
    """Run this machine's worker, as root, while this lasts. What it prints goes to worker.log."""
    command = [str(ROOT / "scripts" / "worker.sh"), str(folder.scheduler_file), "--tls", str(tls),
               *worker_words(options)]
    with acting_as(invoking_user()):
        folder.scheduler_file.unlink(missing_ok=True)
        log = os.open(folder.worker_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        # A session of its own: Ctrl-C is ours to pass on.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
    finally:
        os.close(log)
    assert process.stdin
    try:
        yield process
    finally:
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_S)


class OwnScheduler:
    """A scheduler of our own. When it dies, it is started again at the same port."""

    many = True

    def __init__(self, folder: SweepFolder, tls: Path, dashboard: int, host: str) -> None:
        """Start nothing yet. `host` is the address that it will listen at, "" for all addresses of this machine."""
        self._log, self._tls, self._host = folder.path / "scheduler.log", tls, host
        self._dashboard, self._port = dashboard, 0
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def connect(self) -> Any:
        """Return a client. Raises ExperimentError when no scheduler can be started."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        return _client(self.address, self._tls)

    def _start(self) -> None:
        """Start the scheduler, and take its address. Raises ExperimentError when it does not say one."""
        command = [sys.executable, "-m", "harness.sweep.scheduler", "--port", str(self._port), "--dashboard",
                   str(self._dashboard), "--tls", str(self._tls), *(["--host", self._host] if self._host else [])]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(bound_to_us(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=log, text=True, cwd=ROOT)
        assert self._process.stdout
        ready, _, _ = select.select([self._process.stdout], [], [], START_S)
        words = self._process.stdout.readline().split() if ready else []
        if len(words) != 4:
            stop(self._process)
            raise ExperimentError(f"Dask's scheduler did not start; what it said is in {self._log}")
        self.address = words[1]
        self._port = int(self.address.rpartition(":")[2])
        print(f"Dask's dashboard: {words[3]}", flush=True)

    def close(self) -> None:
        """End the scheduler."""
        if self._process is not None:
            stop(self._process)


class LocalCluster(OwnScheduler):
    """A scheduler on loopback; this machine's worker finds its address in a file."""

    many = False

    def __init__(self, folder: SweepFolder, tls: Path, worker: "subprocess.Popen[bytes]", dashboard: int) -> None:
        """Start nothing yet; `worker` runs already."""
        super().__init__(folder, tls, dashboard, "127.0.0.1")
        self._file, self._worker, self._worker_log = folder.scheduler_file, worker, folder.worker_log

    def connect(self) -> Any:
        """Return a client, and let the worker know where the scheduler is."""
        client = super().connect()
        write_atomically(self._file, self.address)
        return client

    def check(self) -> None:
        """Raise ExperimentError when this machine's worker has ended."""
        if self._worker.poll() is not None:
            raise ExperimentError(f"this machine's worker has ended ({last_line(self._worker_log)}); what it said is "
                                  f"in {self._worker_log}")

    def close(self) -> None:
        """End the scheduler."""
        self._file.unlink(missing_ok=True)
        super().close()


class RemoteCluster:
    """A scheduler that somebody has started (./sweep.py --serve), and whatever workers there are."""

    many = True

    def __init__(self, address: str, tls: Path) -> None:
        """Take the scheduler's `address` as people write it: tcp:// or tls://."""
        self.address, self._tls = as_tls(address), tls
        security(tls)               # complains at once of what is missing

    def connect(self) -> Any:
        """Return a client, as soon as there is a scheduler."""
        announced = False
        while True:
            try:
                return _client(self.address, self._tls)
            except OSError as error:            # a timeout is one
                if not announced:
                    print(f"no scheduler answers at {self.address} ({str(error)[:100]}); waiting for it", flush=True)
                    announced = True
            time.sleep(AGAIN_S)

    def check(self) -> None:
        """Check nothing: neither the scheduler nor the workers are ours."""

    def close(self) -> None:
        """Leave it running."""


def _client(address: str, tls: Path) -> Any:
    from distributed import Client

    return Client(address, security=security(tls), timeout=CONNECT_S, set_as_default=False, name="tfo-lab-sweep")
