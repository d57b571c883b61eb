"""Where a sweep's units go: Dask's clusters.

    nothing said        LocalCluster: a scheduler and one worker on this machine, both ended with this process
    --hosts A,B         SSHCluster: a worker on each host, and the scheduler on the first of them
    --scheduler URL     a cluster that somebody has started, by Dask's own commands

The first two make credentials for this sweep alone (Security.temporary): whoever lacks them cannot connect.
"""

import contextlib
import importlib.util
import logging
from collections.abc import Iterator
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError, InputError
from harness.sweep.options import SweepSettings
from harness.system.privileges import as_root
from harness.system.scratch import temporary_directory

CONNECT_S = 30
"""How long a scheduler may take to answer."""
IDLE_S = 60
"""A scheduler that has had no task for so long ends itself and its workers: its driver was killed."""
DASHBOARD = "127.0.0.1:0"
"""Where Dask's dashboard listens: any port, for this machine only."""
SETTINGS = {
    "distributed.admin.large-graph-warning-threshold": "1GB",       # a unit brings its recording along
    # Of each connection's last 1000 messages Dask keeps those of less than 1 MB, for debugging: recordings, here.
    "distributed.admin.low-level-log-length": 0,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,        # else a worker looks at itself 100 times a second
    # Dask gives up a worker for good that died and is not back by then: on a busy machine to start one takes 15 s.
    "distributed.deploy.lost-worker-timeout": "600s",
    "distributed.comm.timeouts.connect": "5s",          # so long a worker that has just died is waited for
    "distributed.comm.timeouts.tcp": "30s",             # a cable that was pulled
}
WORKER = {"nthreads": 1, "memory_limit": 0, "death_timeout": 60}
"""One task at a time, and none is ended for its memory. A worker that finds no scheduler for so many s ends."""


def require_packages() -> None:
    """Raise InputError unless all that only sweeps need is installed."""
    missing = [name for name in ("asyncssh", "distributed", "pyarrow") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"sweep.py: {' and '.join(missing)} not installed; run: sudo ./scripts/setup.sh --sweep")


@contextlib.contextmanager
def connected(asked: SweepSettings) -> Iterator[Any]:
    """Give Dask's client for the cluster that was asked for. Raises ExperimentError when there is none."""
    import dask
    from distributed import Client, Security

    dask.config.set(SETTINGS)
    last_words = _LastWords()
    with contextlib.ExitStack() as stack:
        try:
            if isinstance(asked.where, str) and asked.where:
                cluster: Any = asked.where
                security = Security()       # as Dask's configuration says: distributed.comm.tls
            else:
                security = Security.temporary()
                cluster = stack.enter_context(_on_hosts(asked.where, security) if asked.where else
                                              _on_this_machine(security))
                print(f"Dask's dashboard: {cluster.dashboard_link}", flush=True)
            client = stack.enter_context(Client(cluster, security=security, timeout=CONNECT_S))
        except (OSError, RuntimeError, ValueError) as error:
            where = asked.where if isinstance(asked.where, str) else ", ".join(asked.where)
            raise ExperimentError(f"{where or 'this machine'}: no cluster of Dask's there ({last_words.line or error})"
                                  "; mend that and go on with ./sweep.py --resume") from None
        yield client


@contextlib.contextmanager
def _on_this_machine(security: Any) -> Iterator[Any]:
    import dask
    from distributed import LocalCluster

    with temporary_directory() as folder:
        dask.config.set({"temporary-directory": str(folder)})
        with as_root():         # the worker starts tfo.py
            cluster = LocalCluster(n_workers=1, threads_per_worker=1, security=security, dashboard_address=DASHBOARD,
                                   memory_limit=0, local_directory=str(folder), silence_logs=logging.CRITICAL)
        with cluster:
            yield cluster


def _on_hosts(names: tuple[str, ...], security: Any) -> Any:
    """Return a cluster of workers on the hosts ``[user@]host``; what starts there gets this sweep's credentials."""
    import dask
    from distributed import SSHCluster

    comm = "distributed.comm"
    credentials = {f"{comm}.tls.{role}.{what}": getattr(security, f"tls_{role}_{what}")
                   for role in ("client", "scheduler", "worker") for what in ("cert", "key")}
    dask.config.set({f"{comm}.default-scheme": "tls", f"{comm}.require-encryption": True,
                     f"{comm}.tls.ca-file": security.tls_ca_file, **credentials})
    pairs = [name.rpartition("@") for name in (names[0], *names)]
    return SSHCluster([host for _, _, host in pairs],
                      connect_options=[{"username": user} if user else {} for user, _, _ in pairs],
                      worker_options=WORKER, security=security,
                      scheduler_options={"dashboard_address": DASHBOARD, "idle_timeout": f"{IDLE_S}s"},
                      remote_python=f"env --chdir={ROOT} {ROOT}/.venv/bin/python")


class _LastWords(logging.Handler):
    """The last line that a program on another host printed: it says why that did not start, and Dask does not."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ""
        logger = logging.getLogger("distributed.deploy.ssh")
        logger.handlers, logger.propagate = [self], False
        logger.setLevel(logging.INFO)
        for name in ("asyncssh", "distributed.deploy.spec"):        # what they say of it is in the error
            logging.getLogger(name).setLevel(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what was printed."""
        self.line = record.getMessage().strip() or self.line
