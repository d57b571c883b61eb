"""Runs Dask's scheduler, which hands units to workers: over TLS only, with a dashboard for this machine only.

    .venv/bin/python -m harness.sweep.scheduler --port 8786      what ./sweep.py --serve starts

Prints ``scheduler ADDRESS dashboard URL`` once it listens, and runs until it is ended.
"""

import asyncio
import importlib.util
import logging
import signal
import tempfile
from pathlib import Path

from harness.errors import ExperimentError, InputError, run_main
from harness.sweep.trust import TLS, only_data, security
from harness.system.locked_folder import locked
from harness.system.options import OptionParser, Whole
from harness.system.scratch import PREFIX

LOST_WORKERS = 3
"""A unit whose worker died so many times is not given to another one: it may be what kills them."""
LONGEST_ERROR = 80
"""Characters of what Dask says of an exception; every traceback is longer."""
CONNECT_S = 20
"""How long a worker or a driver waits for a scheduler to answer."""
AGAIN_S = 3.0
"""How long it then waits until it tries again."""
NOT_NEEDED = ("shuffle", "replay-tasks", "amm", "memory_sampler")
"""Dask's extensions for data frames and debugging: with them functions would travel."""
SETTINGS = {
    # Without its traceback: Dask sends that as text, since it is no plain data, and Dask's client then drops all.
    "distributed.admin.max-error-length": LONGEST_ERROR,
    "distributed.admin.large-graph-warning-threshold": "1GB",       # a unit brings its recording along
    # Of each connection's last 1000 messages Dask keeps those of less than 1 MB, for debugging: recordings, here.
    "distributed.admin.low-level-log-length": 0,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing": True,
    "distributed.worker.profile.enabled": False,        # else a worker looks at itself 100 times a second
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",             # a cable that was pulled
}


def require_dask() -> None:
    """Raise InputError unless Dask and all else that only sweeps need is installed."""
    missing = [name for name in ("distributed", "pyarrow") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"sweep.py: {' and '.join(missing)} not installed; run: sudo ./scripts/setup.sh --sweep")


def configure() -> None:
    """Set Dask up for this process, so that its own measurements of itself do not disturb ours."""
    import dask
    import distributed

    dask.config.set(SETTINGS)
    logging.getLogger(distributed.__name__).setLevel(logging.ERROR)
    only_data()


def extensions() -> dict[str, type]:
    """Return the extensions that the scheduler needs, by name: Dask sends a worker away whose reports name others."""
    from distributed.scheduler import DEFAULT_EXTENSIONS

    return {name: extension for name, extension in DEFAULT_EXTENSIONS.items() if name not in NOT_NEEDED}


async def serve(host: str, port: int, dashboard: int, tls: Path) -> None:
    """Run the scheduler until SIGTERM or SIGINT."""
    import dask
    from distributed import Scheduler

    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    # Dask's scratch space. Should we be killed, whoever measures next as this user removes it (harness.system.scratch).
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}scheduler-") as directory, locked(Path(directory)):
        dask.config.set({"temporary-directory": directory})
        try:
            scheduler = await Scheduler(host=host, port=port, protocol="tls", security=security(tls),
                                        extensions=extensions(), allowed_failures=LOST_WORKERS,
                                        dashboard_address=f"127.0.0.1:{dashboard}")
        except OSError as error:
            raise ExperimentError(f"{host or '*'}:{port}: no scheduler can listen there ({error.strerror or error}); "
                                  "give another port") from None
        async with scheduler:
            port_of_it = scheduler.identity(0)["services"].get("dashboard", dashboard)
            print(f"scheduler {scheduler.address} dashboard http://127.0.0.1:{port_of_it}/status", flush=True)
            await ended.wait()


def main() -> int:
    """Read the command line, and serve."""
    parser = OptionParser(description="The scheduler of a sweep.")
    parser.add_argument("--host", default="", help="address to listen on (all)")
    parser.add_argument("--port", type=Whole(0, 65535), default=8786)
    parser.add_argument("--dashboard", type=Whole(0, 65535), default=8787, help="port of Dask's dashboard")
    parser.add_argument("--tls", type=Path, default=TLS, help="folder of the certificates")
    options = parser.parse_args()
    configure()
    asyncio.run(serve(options.host, options.port, options.dashboard, options.tls))
    return 0


if __name__ == "__main__":
    run_main(main)
