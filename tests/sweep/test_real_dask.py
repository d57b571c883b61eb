"""The driver with Dask itself: scheduler, worker and driver in a process of their own, over TLS, without a test bed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.sweep.trust import make_certificates

IN_A_PROCESS = """
import gc, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.sweep.scheduler import configure, extensions
configure()
from distributed import LocalCluster
from distributed.batched import BatchedSend
from harness.sweep import tasks
from harness.sweep.cluster import RemoteCluster
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import Bed
from harness.sweep.plan import UnitTask
from harness.sweep.trust import security
from tests.support.made_units import VERSIONS, machine, unit

tls = Path(sys.argv[2])
tasks.set_bed(Bed(machine("here"), 0, 0))

def raises(*_):
    raise OSError(28, "No space left on device")

tasks.measure_unit = raises
content = {"the task": b"a recording", "Dask": range(9)}[sys.argv[3]]      # a range is refused on arrival
folder = SweepFolder(tls.parent, "x")
folder.make()
with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tls", security=security(tls),
                  resources={"bed": 1}, dashboard_address=None, local_directory=str(tls.parent),
                  scheduler_kwargs={"extensions": extensions()}) as dask:
    job = UnitTask(unit(0), lambda: content)
    tally = Driver(folder, RemoteCluster(dask.scheduler_address, tls), VERSIONS, print, print).run([job])
    streams = [each for each in gc.get_objects() if isinstance(each, BatchedSend)]
    print(f"{len(streams) > 0}: {sum(len(each.recent_message_log) for each in streams)} messages kept")
kept = folder.outcome(job.unit.key)
print(f"{tally.failed} failed; on {kept.machine.name!r}: {kept.why}")
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("where", "by", "why"), [
    ("the task", "here", "No space left on device"),
    ("Dask", "", "Dask: ")])
def test_an_error_on_a_worker_is_a_failure_with_its_reason(tmp_path: Path, where: str, by: str, why: str) -> None:
    """Dask's client drops an exception whose traceback it cannot read: then nothing would ever end."""
    tls = make_certificates(tmp_path / "tls")
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, ROOT, tls, where], capture_output=True, text=True,
                          check=False, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, messages, last = done.stdout.splitlines()
    assert messages == "True: 0 messages kept", "a scheduler that keeps what it has sent keeps all recordings"
    assert last.startswith(f"1 failed; on {by!r}: ")
    assert why in last


WORKER = """
import argparse, asyncio, sys, tempfile, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.sweep import tasks, worker
from harness.sweep.measuring import Bed
from harness.sweep.outcome import of_unit
from harness.sweep.scheduler import configure
from tests.support.made_units import machine, result

_, _, tls, address, name = sys.argv
configure()
bed = Bed(machine(name), 0, 0)
tasks.set_bed(bed)

def measure_unit(bed, unit, parcel, still_wanted):
    if name == "sick":
        raise OSError(28, "No space left on device")
    time.sleep(0.3)
    with tempfile.TemporaryDirectory() as folder:
        return None, result(Path(folder), of_unit(unit, "measured", machine=bed.machine))

tasks.measure_unit = measure_unit
print(asyncio.run(worker.work(argparse.Namespace(scheduler=address, tls=Path(tls), calibration=False, until_eof=True))))
"""
DRIVER = """
import json, subprocess, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.sweep.scheduler import configure
configure()
from harness.sweep.cluster import OwnScheduler, RemoteCluster
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import UnitTask
from tests.support.made_units import VERSIONS, unit

root, tls, worker = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
folder = SweepFolder(tls.parent, "x")
folder.make()
scheduler = OwnScheduler(folder, tls, 0, "127.0.0.1")
client = scheduler.connect()
command = [sys.executable, "-c", worker, root, tls, scheduler.address]
workers = {name: subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
           for name in ("sick", "well")}
client.wait_for_workers(2)
client.close()
jobs = [UnitTask(unit(number), lambda: b"a recording") for number in range(8)]
tally = Driver(folder, RemoteCluster(scheduler.address, tls), VERSIONS, print, print).run(jobs)
said, _ = workers["sick"].communicate(timeout=20)
workers["well"].communicate(timeout=20)
scheduler.close()
by = [folder.outcome(job.unit.key).machine.name for job in jobs]
print(json.dumps({"measured": tally.measured, "dismissed": tally.dismissed, "by": sorted(set(by)), "sick": said}))
"""


@pytest.mark.timeout(120)
def test_a_worker_with_three_failures_in_a_row_is_sent_away_and_its_units_go_to_another(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "tls")
    done = subprocess.run([sys.executable, "-c", DRIVER, ROOT, tls, WORKER], capture_output=True, text=True,
                          check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    why = "3 failures in a row, the last: the machine: [Errno 28] No space left on device"
    assert found["dismissed"] == {"sick": why}, done.stdout
    assert f"sick is dismissed: {why}" in done.stdout
    assert found["sick"].splitlines()[-1] == f"dismissed: {why}", "the worker itself ends, and says why"
    assert (found["measured"], found["by"]) == (8, ["well"]), done.stdout
