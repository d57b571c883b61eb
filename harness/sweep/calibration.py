"""Has a machine measure two pages that are known, before any other: are its numbers comparable with other machines'?

    chain     HANDSHAKES documents, each framed by the one before, each on a host of its own: TFO saves as many RTTs
    compute   one document with a script that computes, without a delay: how fast this machine's processor is

A machine is not fit for a sweep if its RTT is wrong, or if TFO does not save one round trip for each handshake. A slow
machine is fit, but its speed is written to its results, since TFO cannot save the time that is spent on computing.
"""

import statistics
import time
from dataclasses import replace
from pathlib import Path

from harness.analysis.selection import Cell, Selection, select
from harness.files.experiment import experiment_file, read_experiment
from harness.files.pages import PageFiles, sanitise
from harness.files.result_names import CLIENT
from harness.files.results import has_loads, read_results
from harness.mirror.small import MadeResource, write_small_recording
from harness.sweep.measuring import SITE, Bed, GoOn, console_of, last_line, run_tfo
from harness.sweep.outcome import Calibration
from harness.system.lock import lent_lock
from harness.system.options import plain
from harness.system.privileges import acting_as, invoking_user
from harness.system.scratch import temporary_directory

HANDSHAKES, DELAY_MS = 5, 50.0
"""The chain of documents has so many connections one after the other, at an RTT of twice that delay."""
LOADS = 4
"""How often each page is loaded, the warm-up included."""
WORK = 20_000_000
"""Rounds of the script: 0.1 to 0.3 s on machines of today."""
RTT_TOLERANCE_PERCENT = 5.0
"""How far the measured RTT may be off the wanted one."""
SAVING_TOLERANCE = 0.1
"""How far the round trips saved for each handshake may be off one."""
FRESH_S = 12 * 3600.0
"""How long a calibration holds: processors slow down when they get hot, hypervisors when others come."""
ICON = '<link rel="icon" href="data:,">'
CHAIN = [f"http://host{number}.calibration.test/" for number in range(HANDSHAKES)]
COMPUTE = "http://compute.calibration.test/"


def calibrate(bed: Bed, go_on: GoOn = lambda: True) -> Calibration:
    """Measure both pages on this machine, once no other experiment runs; return what was found, and the fault if any.

    Raises InputError when another experiment has the lock for longer than `bed.wait_s`.
    """
    began_s = time.time()
    with lent_lock(bed.wait_s, go_on) as lock_fd, temporary_directory() as work_dir:
        patience = ("--patience", plain(bed.patience_s))
        chain = _loads(work_dir / "chain", _chain(), ("--delaynet", plain(DELAY_MS), *patience), lock_fd, go_on)
        compute = _loads(work_dir / "compute", _compute(), ("--delaynet", "0", "--tfo", "0", *patience), lock_fd, go_on)
        found = Calibration(began_s)
        if isinstance(chain, str) or isinstance(compute, str):
            return replace(found, fault=chain if isinstance(chain, str) else str(compute))
        off_ms, on_ms = (chain.median_ms(Cell(sanitise(CHAIN[0]), 2 * DELAY_MS, tfo)) for tfo in (0, 1))
        with acting_as(invoking_user()):
            measured = read_experiment(experiment_file(work_dir / "chain" / CLIENT, DELAY_MS)).settings
        found = replace(found, rtt_error_percent=rtt_error_percent(measured.get("measured_rtt_ms")),
                        page_ms=compute.median_ms(Cell(sanitise(COMPUTE), 0.0, 0)),
                        saved_rtts=None if off_ms is None or on_ms is None else
                        round((off_ms - on_ms) / (2 * DELAY_MS * HANDSHAKES), 3))
    return replace(found, fault=fault_of(found))


def fault_of(found: Calibration) -> str:
    """Return in words why a machine that measured this is not fit, "" when it is fit."""
    if found.rtt_error_percent is None or found.saved_rtts is None or found.page_ms is None:
        return "not all of the calibration's loads count"
    if abs(found.rtt_error_percent) > RTT_TOLERANCE_PERCENT:
        return f"its RTT is off by {found.rtt_error_percent:+.1f}%, more than {RTT_TOLERANCE_PERCENT:g}%"
    if abs(found.saved_rtts - 1) > SAVING_TOLERANCE:
        return f"TFO saves {found.saved_rtts:.2f} round trips for each handshake there, not 1"
    return ""


def rtt_error_percent(measured_ms: object) -> float | None:
    """Return by how many percent the median of the measured RTTs (ms, by host) is off what was wanted."""
    if not isinstance(measured_ms, dict) or not measured_ms:
        return None
    return round((statistics.median(map(float, measured_ms.values())) / (2 * DELAY_MS) - 1) * 100, 2)


def _loads(folder: Path, pages: dict[str, str], words: tuple[str, ...], lock_fd: int, go_on: GoOn,
           ) -> Selection | str:
    """Measure the recording made of `pages` with the options `words`; return the loads that count, or why not."""
    make_recording(folder, pages)
    run_tfo(folder, SITE, ("--testruns", str(LOADS), *words), lock_fd, go_on)
    with acting_as(invoking_user()):
        if has_loads(folder / CLIENT):
            return select(read_results(folder / CLIENT), "load")
    return f"its calibration page cannot be measured: {last_line(console_of(folder))}"


def make_recording(folder: Path, documents: dict[str, str]) -> None:
    """Write a recording of `documents` (HTML by URL), the first of which is the page, into a new folder."""
    folder.mkdir()
    resources = {url: MadeResource("text/html", html.encode()) for url, html in documents.items()}
    write_small_recording(PageFiles(folder, SITE), resources,
                          "A machine's calibration, made by harness/sweep/calibration.py.")


def _chain() -> dict[str, str]:
    frames = [f'<iframe src="{url}"></iframe>' for url in CHAIN[1:]] + [""]
    return {url: f"<!doctype html>{ICON}<p>{url}</p>{frame}" for url, frame in zip(CHAIN, frames, strict=True)}


def _compute() -> dict[str, str]:
    script = f"let x = 1; for (let i = 0; i < {WORK}; i++) x = Math.imul(x ^ i, 2654435761); document.title = x;"
    return {COMPUTE: f"<!doctype html>{ICON}<p>computes</p><script>{script}</script>"}
