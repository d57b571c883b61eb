"""This machine as a worker of a sweep: calibrated, then one unit at a time, until it is ended or dismissed.

    sudo ./scripts/worker.sh tcp://host:8786        what people type; it sets up and starts this

It runs as root, since tfo.py does. Neither touches a page itself: Chrome and the servers run as the user who called
sudo. Of the messages that Dask has for workers it takes only those that carry no function (KEPT), see
harness.sweep.trust. When the scheduler is gone it stops measuring, and tries to connect again every few seconds.

Exit status: 0 when it was ended or is no longer needed, 1 when the machine is not fit or was dismissed, 2 for wrong
input.
"""

import argparse
import asyncio
import hashlib
import os
import platform
import signal
import socket
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from harness.browser.program import require_shim
from harness.errors import ExperimentError, InputError, printable, run_main
from harness.network.needs import check_programs
from harness.sweep import tasks
from harness.sweep.calibration import FRESH_S, calibrate
from harness.sweep.measuring import Bed
from harness.sweep.outcome import Machine
from harness.sweep.plan import own_versions
from harness.sweep.scheduler import AGAIN_S, CONNECT_S, configure, require_dask
from harness.sweep.trust import TLS, as_tls, security
from harness.system.locked_folder import locked
from harness.system.options import Decimal, OptionParser
from harness.system.privileges import require_root
from harness.system.scratch import PREFIX
from harness.system.untrusted import UnreadableFileError, read_untrusted_text

KEPT = frozenset(("gather", "get_data", "free_keys", "terminate", "ping", "keys", "versions", "identity",
                  "connection_stream", "echo", "get_story", "get_logs", "get_monitor_info", "call_stack", "profile",
                  "profile_metadata"))
"""The messages that a worker takes. Those that run or import what they are sent (run, upload_file, …) are removed."""
LOOK_S = 0.3
"""How often it is looked whether this worker should end."""
HEARTBEAT = "30s"
"""Heartbeats of 200 workers each second would keep a core busy. That a worker has died is seen by its connection."""
SECONDS = Decimal(0.1, 10**6, or_zero=True)


class Ending:
    """Why this worker should end: a signal, the end of standard input, or that it was dismissed."""

    def __init__(self) -> None:
        """Begin without a reason."""
        self.why = ""

    def now(self, why: str) -> None:
        """Have the worker end for this reason, unless there is one already."""
        self.why = self.why or why

    def is_due(self) -> bool:
        """Tell whether there is a reason."""
        if dismissed := tasks.dismissed():
            self.now(f"dismissed: {dismissed}")
        return bool(self.why)


def this_machine() -> Machine:
    """Return what this machine is, and which worker on it this is."""
    versions = own_versions()
    return Machine(machine_id(), f"{socket.gethostname()}-{os.getpid()}", platform.release(), os.cpu_count() or 0,
                   _processor(), versions.browser, versions.tfo_lab)


def machine_id() -> str:
    """Return an id that no other machine has: a digest of machine-id(5), which itself is to be kept secret."""
    try:
        own = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        own = socket.gethostname()
    return hashlib.sha256(f"tfo-lab {own}".encode()).hexdigest()[:12]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return ""


async def serve(options: argparse.Namespace, ending: Ending) -> None:
    """Work for the scheduler for as long as there is one, then for the next one at its address."""
    while not ending.is_due():
        address = read_address(options.scheduler)
        if address:
            await asyncio.to_thread(_calibrate_unless_fresh, options, ending)
            try:
                await _work_for(address, options.tls, ending)
            except (OSError, asyncio.TimeoutError, RuntimeError) as error:      # it is not there, or not any more
                print(f"no scheduler at {address} ({printable(str(error))[:120]}); trying again", flush=True)
        deadline_s = time.monotonic() + AGAIN_S
        while not ending.is_due() and time.monotonic() < deadline_s:
            await asyncio.sleep(LOOK_S)


async def _work_for(address: str, tls: Path, ending: Ending) -> None:
    """Work for the scheduler at `address` until it is gone, or until this worker is to end."""
    from distributed import Status, Worker

    # Should we be killed, whoever measures next removes it (harness.system.scratch).
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}worker-") as directory, locked(Path(directory)):
        worker = Worker(address, nthreads=1, name=tasks.own_bed().machine.name, resources={"bed": 1},
                        security=security(tls), memory_limit=0, local_directory=directory, dashboard=False,
                        heartbeat_interval=HEARTBEAT, death_timeout=CONNECT_S)
        for name in set(worker.handlers) - KEPT:
            del worker.handlers[name]
        async with worker:
            print(f"works for {address}", flush=True)
            while worker.status is Status.running and not ending.is_due():
                await asyncio.sleep(LOOK_S)


def read_address(given: str) -> str:
    """Return the scheduler's address: the one that was given, or what is in the file that was given.

    It is "" while there is no such file.
    """
    if "://" not in given:
        try:
            given = read_untrusted_text(Path(given), limit=4096).strip()
        except UnreadableFileError:
            return ""
    return as_tls(given)


def _calibrate_unless_fresh(options: argparse.Namespace, ending: Ending) -> None:
    """Measure the calibration's pages unless that was done within FRESH_S; say what came of it."""
    bed = tasks.own_bed()
    if options.calibration and (bed.calibration is None or time.time() - bed.calibration.began_s > FRESH_S):
        print("calibrating this machine", flush=True)
        try:
            found = calibrate(bed, lambda: not ending.is_due())
        except InputError:
            if ending.is_due():
                return              # it was not waited for any longer
            raise
        if ending.is_due():
            return
        tasks.set_bed(replace(bed, calibration=found))
        if not found.fault:
            print(f"RTT off by {found.rtt_error_percent:+.1f}%, TFO saves {found.saved_rtts:.2f} round trips for each "
                  f"handshake, the page that computes takes {found.page_ms:.0f} ms", flush=True)
        else:
            print(f"this machine is not fit: {printable(found.fault)}", file=sys.stderr, flush=True)


def _watch(ending: Ending, until_eof: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ending.now, signal.Signals(number).name)
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), _read_on, loop, ending)


def _read_on(loop: asyncio.AbstractEventLoop, ending: Ending) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        ending.now("nobody needs it any more")


async def work(options: argparse.Namespace) -> str:
    """Be a worker until there is a reason to end; return it."""
    ending = Ending()
    _watch(ending, options.until_eof)
    await serve(options, ending)
    return ending.why


def main() -> int:
    """Check this machine, and serve."""
    options = parse_arguments()
    require_dask()
    require_root("./scripts/worker.sh")
    check_programs()
    require_shim()
    security(options.tls)
    configure()
    tasks.set_bed(Bed(this_machine(), options.wait, options.patience))
    why = asyncio.run(work(options))
    print(f"worker ended: {printable(why)}", flush=True)
    if why.startswith("dismissed"):
        raise ExperimentError(f"this machine measures no more for the sweep: {why.partition(': ')[2]}")
    return 0


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(prog="worker.sh", description="Make this machine a worker of a sweep.")
    parser.add_argument("scheduler", help="its address, tcp://host:8786, or a file in which it stands")
    parser.add_argument("--tls", type=Path, default=TLS, help="folder of the sweep's certificates (.sweep-tls)")
    parser.add_argument("--wait", type=SECONDS, default=3600.0, metavar="SECONDS",
                        help="how long to wait for another experiment on this machine (%(default)g)")
    parser.add_argument("--patience", type=SECONDS, default=30.0, metavar="SECONDS",
                        help="how long to wait for other programs to leave the machine alone (%(default)g)")
    parser.add_argument("--no-calibration", dest="calibration", action="store_false",
                        help="do not measure the calibration's pages first: nobody knows then whether it is fit")
    parser.add_argument("--until-eof", action="store_true", help="end with standard input (for ./sweep.py)")
    options = parser.parse_args()
    if "://" in options.scheduler and not options.scheduler.startswith(("tcp://", "tls://")):
        raise InputError(f"worker.sh: {options.scheduler[:80]!r} is no scheduler's address; write tcp://host:8786")
    return options


if __name__ == "__main__":
    run_main(main)
