"""Workers on other machines, started by SSH.

The project must be in the folder --remote there, and sudo must not ask for a password.

    ./sweep.py  --scp-->  HOST:.sweep-tls/        --ssh-->  HOST: sudo ./scripts/worker.sh tcp://US --until-eof

A worker ends when its SSH connection ends, which happens however the driver dies.
"""

import argparse
import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from harness.errors import ExperimentError, InputError
from harness.sweep.cluster import ENDING_S, OwnScheduler, worker_words
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import last_line

COPY_S = 60
"""How long the certificates may take to be copied to a host."""
BATCH = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15")
"""Options of ssh_config(5): nobody is there to type a password, and a host that is gone is noticed."""


class HostsCluster(OwnScheduler):
    """A scheduler of our own, and a worker on each of `hosts` (as ssh(1) knows them), in the folder `remote` there."""

    def __init__(self, folder: SweepFolder, tls: Path, hosts: Sequence[str], remote: str, options: argparse.Namespace,
                 ) -> None:
        """Start nothing yet."""
        super().__init__(folder, tls, options.dashboard, "")
        self._hosts, self._folder, self._remote, self._words = hosts, folder, remote, worker_words(options)
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def connect(self) -> Any:
        """Return a client; start the workers the first time."""
        if not shutil.which("ssh") or not shutil.which("scp"):
            raise InputError("sweep.py: --hosts needs ssh and scp; run: sudo apt install openssh-client")
        client = super().connect()
        if not self._workers:
            for host in self._hosts:        # each is known to close() as soon as it runs
                self._workers[host] = self._start_worker(host)
        return client

    def check(self) -> None:
        """Raise ExperimentError when no worker is left."""
        if self._workers and all(worker.poll() is not None for worker in self._workers.values()):
            reasons = "; ".join(f"{host}: {last_line(self._log_of(host))}" for host in self._workers)
            raise ExperimentError(f"every worker that was started by SSH has ended ({reasons})")

    def close(self) -> None:
        """End workers and scheduler."""
        for worker in self._workers.values():
            assert worker.stdin
            worker.stdin.close()
        for worker in self._workers.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(ENDING_S)
            worker.kill()
            worker.wait()
        super().close()

    def _log_of(self, host: str) -> Path:
        return self._folder.path / f"worker-{host}.log"

    def _start_worker(self, host: str) -> "subprocess.Popen[bytes]":
        with self._log_of(host).open("wb") as log:
            self._copy_certificates(host, log)
            worker = shlex.join(["sudo", "-n", "./scripts/worker.sh", self.address, "--tls", self._tls.name,
                                 *self._words])
            set_up = shlex.join(["sudo", "-n", "./scripts/setup.sh", "--sweep"])
            command = f"cd {shlex.quote(self._remote)} && {set_up} </dev/null && exec {worker}"
            return subprocess.Popen(["ssh", *BATCH, host, command], stdin=subprocess.PIPE, stdout=log, stderr=log)

    def _copy_certificates(self, host: str, log: IO[bytes]) -> None:
        """Copy them, or say why not: the host may have them from an earlier sweep, and says so itself if it has not."""
        try:
            copied = subprocess.run(["scp", *BATCH, "-q", "-r", "-p", str(self._tls), f"{host}:{self._remote}/"],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=COPY_S, check=False)
        except subprocess.TimeoutExpired:
            print(f"{host}: the certificates were not copied within {COPY_S:g} s", flush=True)
        else:
            if copied.returncode:
                print(f"{host}: {last_line(self._log_of(host))}", flush=True)
