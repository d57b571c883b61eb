"""Measures one unit on this machine by tfo.py: a site's recording at all delays, without giving up the lock between.

The recording is unpacked into a scratch folder, which is removed in the end. The result is a parcel with ``client/``,
``serverlogs/``, what was printed (``console.log``), and ``site.json``. Whatever goes wrong is an outcome with a reason.

The folder with recording and results is given to Chrome's user, who may put links there. So root writes nothing into it
and reads it as that user; what root writes, ``console.log``, is beside it.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from harness.analysis.improvement import improvement
from harness.analysis.selection import select
from harness.bootstrap import ROOT
from harness.errors import ExperimentError, InputError
from harness.files.pages import PageFiles
from harness.files.result_names import CLIENT, SERVER_LOGS
from harness.files.results import Results, has_loads, read_results
from harness.measure.preflight import check_browser, check_room
from harness.measure.resume import recording_digest
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.sweep.outcome import FILE, Calibration, Machine, Status, UnitOutcome, of_unit
from harness.sweep.parcel import pack, unpack
from harness.sweep.plan import Unit, Versions, check_options, own_versions
from harness.system.lock import INHERITED_FD, lent_lock
from harness.system.options import DELAY_MS, plain
from harness.system.privileges import acting_as, give, invoking_user, passable_temp_root
from harness.system.processes import stop
from harness.system.scratch import temporary_directory

SITE = "site"
"""Name of every unit's list of pages and recording: their digest must not depend on who recorded them."""
PARTS = tuple(str(part) for files in (PageFiles(Path(), SITE),)
              for part in (files.pages, files.mirror, files.fetchlog, files.rtts))
CONSOLE = "console.log"
MEASURED = (CLIENT, SERVER_LOGS)
"""What tfo.py makes in its folder."""
RESULTS = (FILE, CONSOLE, *MEASURED)
STOPPED = -1
"""Stands in the place of tfo.py's exit status when we have ended it."""
LOOK_S = 0.5
"""How often it is looked whether a unit is still wanted."""
ENDING_S = 20.0
"""What tfo.py may take to clean up."""
LONGEST_S = 6 * 3600.0
"""How long one delay may take. tfo.py bounds every load itself, so this is for what nobody thought of."""
MOST_REASONS = 3
"""Reasons of failed loads that a unit's row names."""
GoOn = Callable[[], bool]


@dataclass(frozen=True)
class Bed:
    """This machine as a test bed. `wait_s` is how long it waits for another experiment; `patience_s` is for tfo.py."""

    machine: Machine
    wait_s: float
    patience_s: float
    calibration: Calibration | None = None


def measure_unit(bed: Bed, unit: Unit, parcel: bytes, go_on: GoOn) -> tuple[UnitOutcome, bytes]:
    """Measure `unit`, whose recording is in `parcel`; return its outcome, and a parcel of the outcome and all files."""
    with temporary_directory() as scratch:
        work_dir = scratch / "unit"
        work_dir.mkdir()
        try:
            outcome = _measure(bed, unit, parcel, work_dir, go_on)
        except (InputError, ExperimentError, ValueError) as error:
            outcome = of_unit(unit, "failed", str(error))
        except SystemExit:              # argparse, of options that it does not know
            outcome = of_unit(unit, "refused", f"not understood here: {unit.settings}")
        except OSError as error:
            outcome = of_unit(unit, "failed", f"the machine: {error.strerror or error}")
        outcome = replace(outcome, machine=bed.machine, calibration=bed.calibration)
        try:
            return outcome, _packed(outcome, work_dir, MEASURED)
        except ValueError as error:     # too large: what is said of it is not
            outcome = replace(outcome, status="failed", why=(f"its results have {error}",))
            return outcome, _packed(outcome, work_dir, ())


def _packed(outcome: UnitOutcome, work_dir: Path, names: tuple[str, ...]) -> bytes:
    """Return the outcome, what was printed, and `names` of `work_dir`, as a parcel."""
    console = console_of(work_dir)
    own = {FILE: outcome.to_json().encode()} | ({CONSOLE: console.read_bytes()} if console.is_file() else {})
    with acting_as(invoking_user()):
        return pack(work_dir, names, own)


def _measure(bed: Bed, unit: Unit, parcel: bytes, work_dir: Path, go_on: GoOn) -> UnitOutcome:
    """Measure a unit in `work_dir`, one delay after the other. What is not fit to be measured here is refused."""
    if bed.calibration and bed.calibration.fault:
        return of_unit(unit, "refused", bed.calibration.fault)
    if unit.versions != own_versions():
        return of_unit(unit, "refused", f"it has {own_versions()}, and the sweep {unit.versions}")
    options = check_options(unit.settings.options)
    delays = [DELAY_MS(plain(delay)) for delay in unit.settings.delays]
    unpack(parcel, work_dir, PARTS)
    if recording_digest(PageFiles(work_dir, SITE)) != unit.recording:
        return of_unit(unit, "failed", "its recording is another one than was said")
    exits: dict[str, int] = {}
    with lent_lock(bed.wait_s, go_on) as lock_fd:
        began_s = time.time()
        for delay in delays:
            if not go_on():
                return of_unit(unit, "refused", "stopped")
            if fault := fault_of_machine():
                return of_unit(unit, "refused", fault)
            status = run_tfo(work_dir, SITE, ("--delaynet", plain(delay), "--patience", plain(bed.patience_s),
                                              *options), lock_fd, go_on)
            exits[f"{delay:g}"] = status
            if status not in (0, 1):
                break
    if not go_on():
        return of_unit(unit, "refused", "stopped")
    return replace(judge(unit, work_dir, exits), began_s=began_s, took_s=round(time.time() - began_s, 1))


def fault_of_machine() -> str:
    """Return what this machine lacks for any page, "" when it lacks nothing.

    For it tfo.py would end with exit status 2, as it does for a page that is to blame (UnitOutcome.of_the_page).
    """
    try:
        check_programs()
        check_browser()
        check_room(passable_temp_root())
        delays_by_netem()
    except InputError as error:
        return str(error)
    return ""


def console_of(work_dir: Path) -> Path:
    """Return where that stands which tfo.py prints about `work_dir`: beside it, since that is the user's."""
    return work_dir.parent / CONSOLE


def run_tfo(work_dir: Path, name: str, words: tuple[str, ...], lock_fd: int, go_on: GoOn) -> int:
    """Run tfo.py on the recording `name` in `work_dir` while `go_on` says so; return its exit status.

    `work_dir` becomes the user's; the folder it is in has to be ours alone. If this process is killed, tfo.py ends as
    it does on Ctrl-C, and cleans up.
    """
    give(work_dir, invoking_user())
    command = ["setpriv", "--pdeathsig", "TERM", "--", sys.executable, str(ROOT / "tfo.py"), "--name", name,
               "--dir", str(work_dir), *words]
    environment = {**os.environ, INHERITED_FD: str(lock_fd), "PYTHONUNBUFFERED": "1"}
    deadline_s = time.monotonic() + LONGEST_S
    with console_of(work_dir).open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                   pass_fds=(lock_fd,), cwd=ROOT)
        try:
            while process.poll() is None and go_on() and time.monotonic() < deadline_s:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_S)
            return STOPPED if process.returncode is None else process.returncode
        finally:
            stop(process, ENDING_S)


def judge(unit: Unit, work_dir: Path, exits: dict[str, int]) -> UnitOutcome:
    """Return the unit's outcome: it follows from what is in ``client/`` and from tfo.py's exit status at each delay."""
    console = console_of(work_dir)
    with acting_as(invoking_user()):
        any_load = has_loads(work_dir / CLIENT)
    if not any_load:
        return of_unit(unit, "failed", last_line(console), exits=exits)
    with acting_as(invoking_user()):
        results = read_results(work_dir / CLIENT)
        if measured_by := _other_versions(results, unit.versions):
            return of_unit(unit, "refused", f"it has {measured_by}, and the sweep {unit.versions}", exits=exits)
        selection = select(results, "load")
        usable = [improvement(selection, page, rtt_ms).percent is not None
                  for page in results.urls for rtt_ms in results.rtts_ms]
    whole = len(exits) == len(unit.settings.delays) and set(exits.values()) == {0}
    status: Status = "measured" if whole and all(usable) else "partly" if any(usable) else "failed"
    why = () if status == "measured" else _reasons(results) or (last_line(console),)
    return of_unit(unit, status, *why, exits=exits)


def _other_versions(results: Results, wanted: Versions) -> Versions | None:
    """Return the versions that have measured, by tfo.py's own word, if they are others than `wanted`; else None.

    A worker looks at its own once and may run for days. Chrome may be updated meanwhile, or this program.
    """
    for experiment in results.experiments:
        found = Versions(**{name: str(experiment.settings.get(name) or own) for name, own in asdict(wanted).items()})
        if found != wanted:
            return found
    return None


def last_line(log: Path) -> str:
    """Return the last line of what was printed, which says what went wrong."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _reasons(results: Results) -> tuple[str, ...]:
    """Return the most frequent reasons why loads do not count, each with how many loads it holds for."""
    counted = Counter(reason for load in results.loads if not load.valid for reason in load.why_not)
    return tuple(f"{count} of {len(results.loads)} loads: {reason}" for reason, count
                 in counted.most_common(MOST_REASONS))
