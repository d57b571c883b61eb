"""tfo.py with something broken on purpose; run by tests/programs/test_broken_loads.py and tests/faults.

    spoiled_experiment.py rules|suspend [options of tfo.py]

rules      one load after the other is spoiled as SPOILT says, each in another way; the loads between them are not
suspend    at SIGUSR1 the machine seems to have been suspended; it is not waited for other programs before measuring

With `rules` it is started by LATE_PYTHON (tests/support/project_copy.py), so that nothing is refused for its times.
"""

import dataclasses
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))


import tfo
from harness.files.load_record import LoadRecord
from harness.measure import experiment
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.rules import alone
from harness.replay.authority import open_authority
from harness.system import environment, fastopen
from harness.system.namespaces import inside
from harness.system.processes import descendants
from harness.system.signals import run_interruptible
from tests.support.faults import limit
from tests.support.ran import ran

HUNG_S = 3.0
"""Time limit of the load event where it never comes."""
QUIET_S, PATIENT_S = 0.2, 1.5
"""Silence after the load event. A lost SYN is sent again after 1 s, when Chrome may long have used its spare
connection: the 1.5 s of silence at the end of a load is what sees it."""
TRIES = 4
"""So often a load is done that is not spoiled, where the machine fails it. The experiment cannot do it again, as
--retries would do the spoiled ones again, too."""
SUSPEND_MS = 5000.0
Spoiling = Callable[[Laboratory, Load, ExitStack], object]
"""Spoils a load that is about to begin; how that is undone goes on the stack."""


def server_of(lab: Laboratory, load: Load) -> int:
    """Return the process that serves a load's document: the one in its namespace that is not Mininet's shell."""
    shell = lab.star.servers[host_of(load)].pid
    namespace = Path(f"/proc/{shell}/ns/net").readlink()
    return next(pid for pid in descendants(os.getpid())
                if pid != shell and Path(f"/proc/{pid}/ns/net").readlink() == namespace)


def dropped_syn(lab: Laboratory, load: Load, undo: ExitStack) -> None:
    """The firewall of the document's server drops the first SYN, of as many as no load has."""
    server = lab.star.servers[host_of(load)]
    first = ("-m", "statistic", "--mode", "nth", "--every", "1000000", "--packet", "0")

    def change(what: str) -> None:
        with inside(server.pid):
            ran("iptables", "-w", what, "INPUT", "-p", "tcp", "--syn", *first, "-j", "DROP", status=0)

    change("-A")
    undo.callback(change, "-D")


def hung_server(lab: Laboratory, load: Load, undo: ExitStack) -> None:
    """The kernel takes the request, the server never reads it."""
    pid = server_of(lab, load)
    os.kill(pid, signal.SIGSTOP)
    undo.callback(os.kill, pid, signal.SIGCONT)


def replaced(change: Callable[[str], str] | None) -> Spoiling:
    """Return what changes the document in the mirror meanwhile, or takes it away."""
    def spoil(lab: Laboratory, load: Load, undo: ExitStack) -> None:
        path = lab.client_dir.parent / "small" / host_of(load) / "index.html"
        good = path.read_text()
        undo.callback(path.write_text, good)
        if change:
            path.write_text(change(good))
        else:
            path.unlink()

    return spoil


def full_server_log(lab: Laboratory, load: Load, undo: ExitStack) -> None:
    """The server cannot write to its log any more (EFBIG, setrlimit(2))."""
    pid = server_of(lab, load)
    limit(pid, "--fsize=1:unlimited")
    undo.callback(limit, pid, "--fsize=unlimited")


def really_on(_lab: Laboratory, _load: Load, undo: ExitStack) -> None:
    """TFO is on in the kernel although it should be off."""
    set_fastopen = fastopen.set_fastopen
    undo.enter_context(patch.object(fastopen, "set_fastopen", lambda pids, _: set_fastopen(pids, fastopen.ON)))


def no_cookie(lab: Laboratory, load: Load, _undo: ExitStack) -> None:
    """The kernel has forgotten the server's TFO cookie."""
    with inside(lab.star.user.pid):
        ran("ip", "tcp_metrics", "delete", lab.star.servers[host_of(load)].address, status=0)


def other_authority(lab: Laboratory, _load: Load, undo: ExitStack) -> None:
    """The servers' certificates are made by one authority, Chrome is told another one's fingerprint."""
    other = open_authority(lab.work_dir / "other")
    undo.enter_context(patch.dict(vars(lab.chrome), trusted_key=other.fingerprint))


SPOILT: dict[tuple[str, int], Spoiling] = {
    ("network.test", 0): dropped_syn, ("network.test", 1): hung_server,
    ("document.test", 0): replaced(None), ("document.test", 1): replaced(lambda text: text + "<p>more"),
    ("requests.test", 0): replaced(lambda text: text.replace("a.png", "b.png")), ("requests.test", 1): full_server_log,
    ("authority.test", 0): other_authority, ("authority.test", 1): other_authority,
    ("switch.test", 0): really_on, ("switch.test", 1): no_cookie,
}
"""By the document's host and TFO off or on: what happens to the measured load. Warm-ups are left alone."""


def host_of(load: Load) -> str:
    return load.page.url.split("/")[2]


def spoiled_load(lab: Laboratory, load: Load) -> LoadRecord:
    """Do one load, spoiled or not; again if it fails that is not."""
    spoiling = SPOILT.get((host_of(load), load.tfo)) if load.run else None
    settings = dataclasses.replace(
        lab.settings, timeout_s=HUNG_S if spoiling is hung_server else lab.settings.timeout_s,
        quiet_s=PATIENT_S if spoiling is dropped_syn else QUIET_S)
    lab = dataclasses.replace(lab, web=dataclasses.replace(lab.web, settings=settings))
    for _ in range(TRIES):
        with ExitStack() as undo:
            if spoiling:
                spoiling(lab, load, undo)
            record = record_of(lab, load)
        # A spoiled one is done again where the machine stood still for a second, which hides what was spoiled.
        if not alone(record) if spoiling is None else (
                spoiling is dropped_syn or not record.counters["user"]["TCPSynRetrans"]):
            break
    return record


if __name__ == "__main__":
    what = sys.argv.pop(1)
    sys.argv[0] = str(ROOT / "tfo.py")
    if what == "rules":
        vars(experiment)["record_of"] = spoiled_load
    else:
        suspends, suspended_ms = list[int](), environment.suspended_ms
        signal.signal(signal.SIGUSR1, lambda number, _: suspends.append(number))
        # CLOCK_BOOTTIME has run ahead of CLOCK_MONOTONIC.
        vars(environment)["suspended_ms"] = lambda: suspended_ms() + SUSPEND_MS * len(suspends)
        vars(tfo)["wait_for_quiet"] = lambda _patience_s: []
    run_interruptible(tfo.main)
