"""tfo.py with something broken on purpose; run by test_broken_loads.py and test_https_experiment.py.

    spoiled_experiment.py rules|rtt|authority=DIR [options of tfo.py]

rules      one load after the other is spoiled as SPOILT says, each in another way; the loads between them are not
rtt        the network delays more than it is told to
authority  the browser is told to trust the certificate authority in DIR, not the servers'

But with rtt, tests start it with LATE_PYTHON (tests/support/project_copy.py), so that nothing is refused for its times.
"""

import ctypes
import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
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
from harness.network.star import Host, LinkSpeeds, running_star
from harness.replay.authority import open_authority
from harness.system import fastopen
from harness.system.namespaces import inside
from harness.system.processes import descendants
from harness.system.signals import run_interruptible
from harness.system.tcp import QUEUE
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
EXTRA_MS = 5.0
PIDFD_GETFD = 438
"""Number of pidfd_getfd(2), the same on every architecture; Python has no name for it."""
Spoiling = Callable[[Laboratory, Load], AbstractContextManager[object]]
_libc = ctypes.CDLL(None, use_errno=True)


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
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do `work` in a thread meanwhile, and wait for its end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Let a process do nothing while this lasts."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def dropped_syn(lab: Laboratory, load: Load) -> Iterator[None]:
    """The firewall of the document's server drops the first SYN."""
    server = lab.star.servers[host_of(load)]
    rule = ["INPUT", "-p", "tcp", "--syn", "-j", "DROP"]

    def iptables(*words: str) -> str:
        with inside(server.pid):
            return ran("iptables", *words, status=0).stdout

    def first_one_only() -> None:
        wait_until(lambda: "-c 0 0" not in iptables("-v", "-S", "INPUT").splitlines()[-1])
        iptables("-D", *rule)

    iptables("-A", *rule)
    with beside(first_one_only):
        yield


@contextmanager
def queue_of_one(lab: Laboratory, load: Load) -> Iterator[None]:
    """The images' server accepts nothing, and one connection may wait, until the kernel has turned one away."""
    server, pid = lab.star.servers[f"images.{host_of(load)}"], server_of(lab, f"images.{host_of(load)}")
    before = overflows(server)

    def until_one_overflows() -> None:
        with stopped(pid):
            wait_until(lambda: overflows(server) > before)

    set_backlog(pid, 1)
    try:
        with beside(until_one_overflows):
            yield
    finally:
        set_backlog(pid, QUEUE)


def overflows(host: Host) -> int:
    return fastopen.read_counters(host.pid)["ListenOverflows"]


def set_backlog(pid: int, backlog: int) -> None:
    """Call listen(2) again on the listening sockets of another process."""
    process = os.pidfd_open(pid)
    try:
        for number in [int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()
                       if str(entry.readlink()).startswith("socket:")]:
            copy = _libc.syscall(PIDFD_GETFD, process, number, 0)
            with closing(socket.socket(fileno=copy)) as listener:
                if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listener.listen(backlog)
    finally:
        os.close(process)


@contextmanager
def hung_server(lab: Laboratory, load: Load) -> Iterator[None]:
    """The kernel takes the request, the server never reads it."""
    with stopped(server_of(lab, host_of(load))):
        yield


@contextmanager
def killed_chrome(lab: Laboratory, load: Load) -> Iterator[None]:
    """The browser is killed while it waits for the document's answer."""
    server = lab.star.servers[host_of(load)]

    def in_mid_load() -> None:
        wait_until(lambda: " 01 " in tcp_sockets(server))
        for pid in descendants(os.getpid()):
            command = command_of(pid)
            if b"--log-net-log" in command and b"--type=" not in command:
                os.kill(pid, signal.SIGKILL)

    with hung_server(lab, load), beside(in_mid_load):
        yield


def tcp_sockets(host: Host) -> str:
    """Return /proc/net/tcp of the host; an established connection has " 01 " there (linux/tcp_states.h)."""
    with inside(host.pid):
        return Path("/proc/thread-self/net/tcp").read_text()


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


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
    limit_file_size(pid, "1:unlimited")
    try:
        yield
    finally:
        limit_file_size(pid, "unlimited")


def limit_file_size(pid: int, limits: str) -> None:
    """Change a process's RLIMIT_FSIZE as its own user: root of a container may lack CAP_SYS_RESOURCE."""
    owner = Path(f"/proc/{pid}").stat()
    ran("setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "prlimit", "--pid", pid,
        f"--fsize={limits}", status=0)


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
    ("network.test", 0): dropped_syn, ("network.test", 1): queue_of_one,
    ("server.test", 0): hung_server, ("server.test", 1): killed_chrome,
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
                      PATIENT_S if spoiling in (dropped_syn, queue_of_one) else QUIET_S)
    for _ in range(TRIES):
        with spoiling(lab, load):
            record = record_of(lab, load)
        if spoiling in (dropped_syn, queue_of_one) or not record.counters["user"]["TCPSynRetrans"]:
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
    elif what == "rules":
        vars(experiment)["record_of"] = spoiled_load
    run_interruptible(tfo.main)
