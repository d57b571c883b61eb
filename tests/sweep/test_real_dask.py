"""The driver with Dask itself: scheduler, worker and driver in a process of their own, over TLS, without a test bed."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.sweep.trust import make_certificates

IN_A_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.sweep.scheduler import configure, extensions
configure()
from distributed import LocalCluster
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
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"1 failed; on {by!r}: ")
    assert why in last
