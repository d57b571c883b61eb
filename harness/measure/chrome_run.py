"""load_page.py, called inside `user` for one load."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from harness.files.pages import Page
from harness.measure.laboratory import Laboratory
from harness.measure.left_behind import LeftBehind, end_of
from harness.measure.plan import Load
from harness.network.packets import captured_packets
from harness.system.privileges import acting_as
from harness.system.processes import descendants, end_strays


def run_chrome(lab: Laboratory, load: Load, directory: Path) -> dict[str, Any]:
    """Run load_page.py with a folder of its own; keep its logs in `directory` and return its report.

    When load_page.py left no report, return {"errors": [why]}.
    """
    known = descendants(os.getpid())
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=lab.work_dir))
    os.chown(scratch, lab.browsing_user.uid, lab.browsing_user.gid)
    with acting_as(lab.results_user):
        directory.mkdir(parents=True, exist_ok=True)
    left = LeftBehind(scratch, lab.browsing_user, directory, lab.results_user, load.page.name)
    try:
        with tempfile.TemporaryFile(dir=lab.work_dir) as output:
            with captured_packets(lab.star.user, lab.work_dir) if lab.pcap else nullcontext() as capture:
                complaint = _call_load_page(lab, load, scratch, output)
            end_strays(known)           # or they could still change what is looked at now
            left.keep_logs()
            report = left.report(complaint)
            if capture:
                left.keep_capture(capture.path)
                report["capture"] = capture.as_record()
            if report.get("errors") or not report.get("plt_ms"):
                report["logs"] = left.keep_output(output)
        return report
    finally:
        end_strays(known)
        shutil.rmtree(scratch, ignore_errors=True)


def options_as_recorded(page: Page, user_agents: Mapping[str, str], asked_as: str) -> list[str]:
    """Return the options with which Chrome does as it did when it recorded `page`.

    What it says that it is decides what scripts do. `asked_as` is what it made of the page's URL by itself.
    """
    said = user_agents.get(page.name)
    return [*([f"--user-agent={said}"] if said else []), *([f"--asked-as={asked_as}"] if asked_as != page.url else [])]


def _connection_limit(lab: Laboratory) -> list[str]:
    limit = lab.connection_limit
    return ["--socket-limits", str(limit.place), "--connections-per-host", str(limit.per_host)] if limit else []


def _call_load_page(lab: Laboratory, load: Load, scratch: Path, output: IO[bytes]) -> str:
    """Call load_page.py; return its error message, "" when there is none. All that it prints goes into `output`."""
    user = lab.browsing_user
    arguments = [load.page.url, "--hack-dns", str(lab.hack_dns), "--shim", str(lab.shim),
                 "--work-dir", str(scratch), "--interface", lab.star.user.interface, "--user", f"{user.uid}:{user.gid}",
                 "--binary", lab.browser.binary, "--driver", lab.browser.driver,
                 *(["--predict"] if lab.predict else []), *lab.options_of_load(load.tfo),
                 *(["--initiators"] if lab.initiators or load.run == 0 else []),     # run 0 never counts
                 *(["--trusted-key", lab.trusted_key] if lab.trusted_key else []),
                 *(["--key-shares", str(lab.key_shares)] if lab.key_shares else []), *_connection_limit(lab),
                 *options_as_recorded(load.page, lab.user_agents, lab.asked_as.get(load.page.name, load.page.url)),
                 "--timeout", str(lab.limits.load_s),
                 "--quiet", str(lab.limits.quiet_s), "--quiet-limit", str(lab.limits.quiet_limit_s)]
    try:
        status = lab.load_page.call(arguments, output, lab.limits.total_s)
    except subprocess.TimeoutExpired:
        return f"Chrome hung: no end after {lab.limits.total_s:g} s"
    said = end_of(output).decode("utf-8", "replace").strip()
    return said.splitlines()[-1] if status and said else ""
