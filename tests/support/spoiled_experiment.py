"""tfo.py with something broken on purpose; run by tests/programs/test_broken_loads.py and tests/faults.

    spoiled_experiment.py rules|rtt|suspend|authority=DIR [options of tfo.py]

rules      one load after the other is spoiled as SPOILT says, each in another way; the loads between them are not
rtt        the network delays more than it is told to
suspend    at SIGUSR1 the machine seems to have been suspended; it is not waited for other programs before measuring
authority  the browser is told to trust the certificate authority in DIR, not the servers'

But with rtt, tests start it with LATE_PYTHON (tests/support/project_copy.py), so that nothing is refused for its times.
"""

import dataclasses
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))


import tfo
from harness.files.load_record import LoadRecord
from harness.measure import experiment, laboratory
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.rules import alone
from harness.network.links import Delay
from harness.network.nodes import running_star
from harness.network.star import LinkSpeeds
from harness.replay.authority import open_authority
from harness.system import environment, fastopen
from harness.system.background import beside
from harness.system.namespaces import inside
from harness.system.processes import descendants
from harness.system.signals import run_interruptible
from tests.support.faults import limit
from tests.support.ran import ran

POLL_S = 0.05
LIMIT_S = 60.0
HUNG_S = 3.0
"""Time limit of the load event where it never comes."""
QUIET_S, PATIENT_S = 0.2, 1.5
"""Silence after the load event. A lost SYN is sent again after 1 s, when Chrome may long have used its spare
connection: the 1.5 s of silence at the end of a load is what sees it."""
TRIES = 4
"""So often a load is done that is not spoiled, where the machine fails it. The experiment cannot do it again, as
--retries would do the spoiled ones again, too."""
EXTRA_MS, SUSPEND_MS = 5.0, 5000.0
Spoiling = Callable[[Laboratory, Load], AbstractContextManager[object]]
def server_of(lab: Laboratory, host: str) -> int:
    """Return the process that serves `host`: the one in its network namespace that is not Mininet's shell."""
    shell = lab.star.servers[host].pid
    namespace = Path(f"/proc/{shell}/ns/net").readlink()
    return next(pid for pid in descendants(os.getpid())
                if pid != shell and Path(f"/proc/{pid}/ns/net").readlink() == namespace)


def wait_until(happened: Callable[[], bool]) -> None:
    """Poll until `happened`; give up silently after LIMIT_S: the test then sees a load that was not spoiled."""
    deadline = time.monotonic() + LIMIT_S
    while not happened() and time.monotonic() < deadline:
        time.sleep(POLL_S)


@contextmanager
def dropped_syn(lab: Laboratory, load: Load) -> Iterator[None]:
    """The firewall of the document's server drops the first SYN."""
    server = lab.star.servers[host_of(load)]
    rule = ["INPUT", "-p", "tcp", "--syn", "-j", "DROP"]

    def iptables(*words: str) -> str:
        with inside(server.pid):
            return ran("iptables", *words, status=0).stdout

    def first_one_only(_ended: threading.Event) -> None:
        wait_until(lambda: "-c 0 0" not in iptables("-v", "-S", "INPUT").splitlines()[-1])
        iptables("-D", *rule)

    iptables("-A", *rule)
    with beside(first_one_only, "firewall"):
        yield


@contextmanager
def hung_server(lab: Laboratory, load: Load) -> Iterator[None]:
    """The kernel takes the request, the server never reads it."""
    pid = server_of(lab, host_of(load))
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def replaced(change: Callable[[str], str] | None) -> Spoiling:
    """Return what changes the document in the mirror meanwhile, or takes it away."""
    @contextmanager
    def spoil(lab: Laboratory, load: Load) -> Iterator[None]:
        path = lab.client_dir.parent / "small" / host_of(load) / "index.html"
        good = path.read_text()
        if change:
            path.write_text(change(good))
        else:
            path.unlink()
        try:
            yield
        finally:
            path.write_text(good)

    return spoil


@contextmanager
def full_server_log(lab: Laboratory, load: Load) -> Iterator[None]:
    """The server cannot write to its log any more (EFBIG, setrlimit(2))."""
    pid = server_of(lab, host_of(load))
    limit(pid, "--fsize=1:unlimited")
    try:
        yield
    finally:
        limit(pid, "--fsize=unlimited")


@contextmanager
def really_on(_lab: Laboratory, _load: Load) -> Iterator[None]:
    """TFO is on in the kernel although it should be off."""
    set_fastopen = fastopen.set_fastopen
    vars(fastopen)["set_fastopen"] = lambda pids, _value: set_fastopen(pids, fastopen.ON)
    try:
        yield
    finally:
        vars(fastopen)["set_fastopen"] = set_fastopen


@contextmanager
def no_cookie(lab: Laboratory, load: Load) -> Iterator[None]:
    """The kernel has forgotten the server's TFO cookie."""
    with inside(lab.star.user.pid):
        ran("ip", "tcp_metrics", "delete", lab.star.servers[host_of(load)].address, status=0)
    yield


SPOILT: dict[tuple[str, int], Spoiling] = {
    ("network.test", 0): dropped_syn, ("network.test", 1): hung_server,
    ("document.test", 0): replaced(None), ("document.test", 1): replaced(lambda text: text + "<p>more"),
    ("requests.test", 0): replaced(lambda text: text.replace("a.png", "b.png")), ("requests.test", 1): full_server_log,
    ("switch.test", 0): really_on, ("switch.test", 1): no_cookie,
}
"""By the document's host and TFO off or on: what happens to the measured load. Warm-ups are left alone."""


def host_of(load: Load) -> str:
    return load.page.url.split("/")[2]


def spoiled_load(lab: Laboratory, load: Load) -> LoadRecord:
    """Do one load, spoiled or not."""
    spoiling = SPOILT.get((host_of(load), load.tfo)) if load.run else None
    if spoiling is None:
        return good_load(lab, load)
    lab = with_limits(lab, HUNG_S if spoiling is hung_server else lab.settings.timeout_s,
                      PATIENT_S if spoiling is dropped_syn else QUIET_S)
    for _ in range(TRIES):
        with spoiling(lab, load):
            record = record_of(lab, load)
        if spoiling is dropped_syn or not record.counters["user"]["TCPSynRetrans"]:
            break           # else the machine stood still for a second, which hides what was spoiled
    return record


def good_load(lab: Laboratory, load: Load) -> LoadRecord:
    """Do one load, again if it fails."""
    lab = with_limits(lab, lab.settings.timeout_s, QUIET_S)
    records = (record_of(lab, load) for _ in range(TRIES))
    return next((record for record in records if not alone(record)), None) or record_of(lab, load)


def with_limits(lab: Laboratory, timeout_s: float, quiet_s: float) -> Laboratory:
    settings = dataclasses.replace(lab.settings, timeout_s=timeout_s, quiet_s=quiet_s)
    return dataclasses.replace(lab, web=dataclasses.replace(lab.web, settings=settings))


class Suspended:
    """Stands for harness.system.environment.suspended_ms: CLOCK_BOOTTIME has run ahead of CLOCK_MONOTONIC."""

    def __init__(self) -> None:
        self.real, self.ahead_ms = environment.suspended_ms, 0.0

    def __call__(self) -> float:
        return self.real() + self.ahead_ms

    def once_more(self, *_: object) -> None:
        self.ahead_ms += SUSPEND_MS


def slower(speeds: LinkSpeeds) -> LinkSpeeds:
    return dataclasses.replace(speeds, delay_net_ms=speeds.delay_net_ms + EXTRA_MS)


if __name__ == "__main__":
    what, _, authority = sys.argv.pop(1).partition("=")
    sys.argv[0] = str(ROOT / "tfo.py")
    if what == "rtt":
        vars(laboratory)["running_star"] = lambda hosts, speeds, netem: running_star(hosts, slower(speeds), netem)
        change = Delay.change
        setattr(Delay, "change", lambda delay, speeds: change(delay, slower(speeds)))  # noqa: B010
    elif what == "authority":
        vars(laboratory)["open_authority"] = lambda _: open_authority(Path(authority))
    elif what == "suspend":
        suspended = Suspended()
        signal.signal(signal.SIGUSR1, suspended.once_more)
        vars(environment)["suspended_ms"] = suspended
        vars(tfo)["wait_for_quiet"] = lambda _patience_s: []
    elif what == "rules":
        vars(experiment)["record_of"] = spoiled_load
    run_interruptible(tfo.main)
