"""One load inside `user`, in a process of its own, and what is kept of it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any

from harness.browser.chrome import ChromeSettings
from harness.browser.warm_pair import watching_second_visit
from harness.files.hack_dns import origins, resolver_rules
from harness.measure.laboratory import Laboratory
from harness.measure.left_behind import LeftBehind, end_of
from harness.measure.loading import load_page
from harness.measure.page_load import PageLoad
from harness.measure.plan import Load
from harness.network.packets import captured_packets
from harness.system.forked import call_forked


def run_chrome(lab: Laboratory, load: Load, directory: Path,
               begin: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Load a page with a folder of its own; keep the logs in `directory` and return the report.

    Where the load follows an untimed visit (Settings.warm_pairs) `begin` is called between the two.

    When there is no report, return {"errors": [why]}.
    """
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=lab.work_dir))
    os.chown(scratch, lab.browsing_user.uid, lab.browsing_user.gid)
    directory.mkdir(parents=True, exist_ok=True)
    left = LeftBehind(scratch, lab.browsing_user, directory, load.page.name)
    try:
        with tempfile.TemporaryFile(dir=lab.work_dir) as output:
            with captured_packets(lab.star.user, lab.work_dir) if lab.settings.pcap else nullcontext() as capture:
                second = watching_second_visit(scratch, begin) if lab.settings.warm_pairs else nullcontext()
                with second:
                    complaint = _load(lab, load, scratch, output)
            left.keep_logs()
            report = left.report(complaint)
            if capture:
                left.keep_capture(capture.path)
                report["capture"] = asdict(capture.counts)
            if report.get("errors") or not report.get("plt_ms"):
                report["logs"] = left.keep_output(output)
        return report
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def page_load(lab: Laboratory, load: Load, scratch: Path) -> PageLoad:
    """Return what is to be loaded. Chrome does as it did when it recorded the page.

    Run 0 never counts, so that the time which DevTools takes for the initiators spoils nothing.
    """
    page, settings, recording = load.page, lab.settings, lab.web.page_set.recording
    chrome = ChromeSettings(
        scratch, resolver_rules(lab.remaps), lab.shim, predict=settings.predict, trusted_key=lab.trusted_key,
        quic_origins=origins(lab.remaps, "https") if load.over.quic else (), key_shares=lab.key_shares,
        connection_limit=lab.connection_limit, user_agent=recording.manifest.user_agents.get(page.name),
        initiators=lab.initiators or load.run == 0, loopback_tfo=lab.loopback_tfo(load.tfo),
        over=load.over if settings.warm_pairs else None)
    return PageLoad(url=page.url, interface=lab.star.user.interface, user=lab.browsing_user, browser=lab.browser,
                    chrome=chrome, settings=settings, asked_as=recording.asked_as(page.url), nice=lab.nice)


def _load(lab: Laboratory, load: Load, scratch: Path, output: IO[bytes]) -> str:
    """Load the page; return the last error that was said, "" when there is none. What is printed goes to `output`."""
    longest_s = lab.settings.longest_load_s
    try:
        status = call_forked(partial(load_page, page_load(lab, load, scratch)), "load_page.py", output, longest_s,
                             lab.star.user.pid)
    except subprocess.TimeoutExpired:
        return f"Chrome hung: no end after {longest_s:g} s"
    said = end_of(output).decode("utf-8", "replace").strip()
    return said.splitlines()[-1] if status and said else ""
