"""One page load: Chrome inside `user`, the kernel's counters around it, and the record of all that happened."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import environment, fastopen
from harness.atomic import write_atomically
from harness.bootstrap import ROOT
from harness.browser import Browser
from harness.capture_packets import captured_packets
from harness.links import delay_line_drops
from harness.netns import inside
from harness.open_connections import open_sockets, wait_for_close
from harness.plan import Load
from harness.privileges import User, give
from harness.processes import descendants, end_strays, stop
from harness.results import cell_directory, write_load
from harness.serverlogs import read_server_logs
from harness.star import Star

LOAD_PAGE = ROOT / "tfo-test" / "load_page.py"
OVERHEAD_LIMIT_S = 40.0
"""How long starting and ending Chrome may take besides the page's own limits before it is called hung."""


@dataclass(frozen=True)
class Limits:
    """Time limits of a load in seconds: until the load event, of silence that ends it, until that silence."""

    load_s: float = 60.0
    quiet_s: float = 1.5
    quiet_limit_s: float = 10.0

    @property
    def total_s(self) -> float:
        """After this long load_page.py itself hangs."""
        return self.load_s + self.quiet_limit_s + OVERHEAD_LIMIT_S


@dataclass(frozen=True)
class Laboratory:
    """Everything a load needs: the running star and where things are."""

    star: Star
    browser: Browser
    browsing_user: User
    results_user: User
    work_dir: Path
    hack_dns: Path
    client_dir: Path
    server_log_dir: Path
    delaynet_ms: float
    rtt_ms: float
    measured_rtt_ms: dict[str, float]
    predict: bool
    limits: Limits = Limits()
    trusted_key: str | None = None
    """Fingerprint of the servers' certificate authority, see harness.authority; None when all is plain http."""
    key_shares: int | None = None
    """Where Chrome's table of key exchange groups is, see harness.client_hello; None to leave it as it is."""
    pcap: bool = False
    """Whether to keep a capture of each load's packets."""


def measure_load(lab: Laboratory, load: Load) -> dict[str, Any]:
    """Load one page once, write its log and HAR into ``client/`` and return its record.

    A load that fails is a record too, with its "errors". Validity is judged by harness.validity.
    """
    fastopen.set_fastopen(lab.star.pids, fastopen.ON if load.tfo else fastopen.OFF)
    before, drops_before, began_s = _counters(lab.star), delay_line_drops(lab.star.user), time.time()
    servers = [server.pid for server in lab.star.servers.values()]
    listening = open_sockets(servers)
    directory = lab.client_dir / cell_directory(lab.delaynet_ms, load.run, load.tfo)
    report = _run_chrome(lab, load, directory)
    after = _counters(lab.star)
    wait_for_close(lambda: open_sockets(servers), listening, lab.rtt_ms)
    give(directory, lab.results_user)
    return {
        "url": load.page.url, "page": load.page.name, "delaynet_ms": lab.delaynet_ms, "rtt_ms": lab.rtt_ms,
        "tfo": load.tfo, "run": load.run, "plt_ms": None, "last_ms": None,
        **{key: value for key, value in report.items() if key not in ("url", "timing", "versions", "argv")},
        **_server_view(lab, load, began_s),
        "counters": {side: fastopen.difference(after[side], before[side]) for side in after},
        "delay_line_drops": delay_line_drops(lab.star.user) - drops_before,
        "began_s": began_s,
        "environment": {**environment.machine(), "versions": report.get("versions"), "argv": report.get("argv"),
                        "measured_rtt_ms": lab.measured_rtt_ms, "load_average": environment.load_average(),
                        "sysctls": environment.sysctls(lab.star.user.pid)},
    }


def write_record(lab: Laboratory, load: Load, record: dict[str, Any], why_not: list[str]) -> None:
    """Write a load's JSON with the verdict on it: `why_not` is empty for a valid load."""
    directory = lab.client_dir / cell_directory(lab.delaynet_ms, load.run, load.tfo)
    give(write_load(directory, load.page.name, {**record, "valid": not why_not, "why_not": why_not}), lab.results_user)


def _counters(star: Star) -> dict[str, dict[str, int]]:
    servers = fastopen.total(fastopen.read_counters(server.pid) for server in star.servers.values())
    return {"user": fastopen.read_counters(star.user.pid), "servers": servers}


def _run_chrome(lab: Laboratory, load: Load, directory: Path) -> dict[str, Any]:
    """Run load_page.py inside `user` with a directory of its own; keep its logs and return its report."""
    known = descendants(os.getpid())
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=lab.work_dir))
    os.chown(scratch, lab.browsing_user.uid, lab.browsing_user.gid)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with captured_packets(lab.star.user, lab.work_dir) if lab.pcap else nullcontext() as capture:
            complaint = _run_load_page(lab, load, scratch)
        for name in (load.page.name, f"{load.page.name}.har"):
            _keep(scratch / name, directory / name)
        report = _read_report(scratch / "load.json", complaint)
        if capture:
            _keep(capture.path, directory / f"{load.page.name}.pcap")
            report["capture"] = capture.as_record()
        return report
    finally:
        end_strays(known)
        shutil.rmtree(scratch, ignore_errors=True)


def _run_load_page(lab: Laboratory, load: Load, scratch: Path) -> str:
    """Return what load_page.py complained of, "" when it was content."""
    user = lab.browsing_user
    command = [sys.executable, str(LOAD_PAGE), load.page.url, "--hack-dns", str(lab.hack_dns),
               "--work-dir", str(scratch), "--interface", lab.star.user.interface, "--user", f"{user.uid}:{user.gid}",
               "--binary", lab.browser.binary, "--driver", lab.browser.driver,
               *(["--predict"] if lab.predict else []),
               *(["--trusted-key", lab.trusted_key] if lab.trusted_key else []),
               *(["--key-shares", str(lab.key_shares)] if lab.key_shares else []), "--timeout", str(lab.limits.load_s),
               "--quiet", str(lab.limits.quiet_s), "--quiet-limit", str(lab.limits.quiet_limit_s)]
    with inside(lab.star.user.pid):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
    try:
        _, said = process.communicate(timeout=lab.limits.total_s)
    except subprocess.TimeoutExpired:
        return f"Chrome hung: no end after {lab.limits.total_s:g} s"
    finally:
        stop(process)
    return said.strip().splitlines()[-1] if process.returncode and said.strip() else ""


def _keep(made: Path, kept: Path) -> None:
    """Copy a file the unprivileged side made, if it is one: never through a link."""
    if made.is_file() and not made.is_symlink():
        write_atomically(kept, made.read_bytes())


def _read_report(path: Path, complaint: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        report = {"errors": [complaint or "load_page.py left no report"]}
    return report


def _server_view(lab: Laboratory, load: Load, since_s: float) -> dict[str, int]:
    """Count what the servers' logs say of this load: answers by how they were found, connections by their SYN."""
    directory = lab.server_log_dir / f"{lab.delaynet_ms:g}-tfo-{load.tfo}"
    requests = [request for request in read_server_logs(directory) if request.time_s >= since_s]
    first = [request for request in requests if request.request == 1]
    return {
        "connections_with_request": len(first),
        "syn_data_connections": sum(request.syn_data for request in first),
        "silent_connections": sum(request.found == "silent" for request in requests),
        "best_match": sum(request.found == "best-match" for request in requests),
        "missing": sum(request.found == "missing" for request in requests),
    }
