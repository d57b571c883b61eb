"""A worker's side of a sweep: has one unit measured by tfo.py on this machine, and says whether the machine can.

The worker begins as root, since tfo.py does. Among the folders with recordings and results it is the user who called
sudo, whatever links lie there.
"""

import os
import platform
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from harness.analysis.selection import select
from harness.bootstrap import ROOT
from harness.errors import BusyError, ExitStatus, ExperimentError, InputError
from harness.files.pages import PageFiles
from harness.files.result_names import CLIENT, SERVER_LOGS
from harness.files.results import Results, has_loads, read_results
from harness.measure.preflight import check_browser, check_room
from harness.mirror.paths import list_files
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.sweep.outcome import Machine, Status, UnitOutcome, of_unit
from harness.sweep.plan import Unit, Versions, own_versions
from harness.system.lock import INHERITED_FD, lent_lock
from harness.system.options import plain
from harness.system.privileges import act_as, as_root, invoking_user, passable_temp_root, require_root
from harness.system.processes import stop
from harness.system.scratch import temporary_directory
from harness.system.untrusted import ANY_SIZE, UnreadableFileError, open_untrusted

SITE = "site"
"""Name of every unit's list of pages and recording: their digest must not depend on who recorded them."""
PARTS = tuple(str(part) for files in (PageFiles(Path(), SITE),)
              for part in (files.pages, files.mirror, files.fetchlog, files.rtts))
CONSOLE = "console.log"
RESULTS = (CLIENT, SERVER_LOGS)
"""What tfo.py makes in its folder."""
LARGEST = 2**29
"""Bytes of a recording, or of a unit's results."""
LONGEST_S = 6 * 3600.0
"""How long one delay may take. tfo.py bounds every load itself, so this is for what nobody thought of."""
ENDING_S = 20.0
"""What tfo.py may take to clean up."""
MOST_REASONS = 3
"""Reasons of failed loads that a unit's row names."""
Contents = Mapping[str, bytes]
"""Files by their path in a folder."""


@dataclass(frozen=True)
class Patience:
    """How long, in s, to wait for another experiment's end, and for other programs to leave the machine alone."""

    wait_s: float
    patience_s: float


class NotMeasuredError(Exception):
    """A unit has no improvement, and another try may give one: Dask tries again. Its argument: outcome, and files."""

    def __str__(self) -> str:
        """Return the reasons. (An exception whose text is long does not keep its arguments in Dask.)"""
        return "; ".join(self.args[0][0].why)


class UnfitError(Exception):
    """This machine can measure no page. Its arguments: the worker's address, and why."""


def take_part(versions: Versions) -> str:
    """Check that this machine can measure, with these `versions`; return why it cannot, "" when it can."""
    try:
        require_root("./sweep.py (a worker)")
        check_programs()
        check_browser()
        check_room(passable_temp_root())
        delays_by_netem()
    except InputError as error:
        return str(error)
    return "" if own_versions() == versions else f"it has {own_versions()}, and the sweep {versions}"


def measure(unit: Unit, recording: Contents, patience: Patience) -> tuple[UnitOutcome, Contents]:
    """Measure a unit, one delay after the other; return its outcome, and its files. This is a task of Dask's.

    Raises NotMeasuredError where another try may succeed, and UnfitError.
    """
    if why := take_part(unit.versions):     # it may have changed since it was asked
        raise UnfitError(own_address(), why)
    act_as(invoking_user())
    with temporary_directory() as scratch:
        work_dir = scratch / "unit"
        write_files(work_dir, recording)
        final = False
        try:
            with lent_lock(patience.wait_s) as lock_fd:
                outcome, final = _measured(unit, work_dir, patience, lock_fd)
        except (BusyError, ExperimentError, OSError) as error:
            outcome = of_unit(unit, "failed", f"the machine: {error}")
        files = read_files(work_dir, RESULTS)
        files |= read_files(scratch, (CONSOLE,))
    result = replace(outcome, machine=this_machine()), files
    if outcome.status == "failed" and not final:
        raise NotMeasuredError(result)
    return result


def _measured(unit: Unit, work_dir: Path, patience: Patience, lock_fd: int) -> tuple[UnitOutcome, bool]:
    """Measure a unit in `work_dir`; return its outcome, and whether another try can give no other one."""
    began_s, statuses = time.time(), []
    for delay in unit.delays:
        statuses.append(run_tfo(work_dir, ("--delaynet", plain(delay), "--patience", plain(patience.patience_s),
                                           *unit.options), lock_fd))
        if statuses[-1] == ExitStatus.UNAVAILABLE:
            raise UnfitError(own_address(), last_line(work_dir.parent / CONSOLE))
        if statuses[-1] not in (ExitStatus.DONE, ExitStatus.INCOMPLETE):
            break
    outcome = judge(unit, work_dir, whole=len(statuses) == len(unit.delays) and not any(statuses))
    return (replace(outcome, began_s=began_s, took_s=round(time.time() - began_s, 1)),
            statuses[-1] == ExitStatus.WRONG_INPUT)


def run_tfo(work_dir: Path, words: Iterable[str], lock_fd: int) -> int:
    """Run tfo.py on the recording in `work_dir`; return its exit status.

    If this process is killed, tfo.py ends as it does on Ctrl-C, and cleans up.
    """
    command = ["setpriv", "--pdeathsig", "TERM", "--", sys.executable, str(ROOT / "tfo.py"), "--name", SITE,
               "--dir", str(work_dir), *words]
    environment = {**os.environ, INHERITED_FD: str(lock_fd), "PYTHONUNBUFFERED": "1"}
    with (work_dir.parent / CONSOLE).open("ab") as log:
        with as_root():
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                       pass_fds=(lock_fd,), cwd=ROOT)
        try:
            return process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            raise ExperimentError(f"tfo.py did not end within {LONGEST_S:g} s") from None
        finally:
            stop(process, ENDING_S)


def judge(unit: Unit, work_dir: Path, *, whole: bool) -> UnitOutcome:
    """Return the unit's outcome by what is in ``client/``. `whole`: tfo.py has measured every load at every delay."""
    last = last_line(work_dir.parent / CONSOLE)
    if not has_loads(work_dir / CLIENT):
        return of_unit(unit, "failed", last)
    results = read_results(work_dir / CLIENT)
    _require_versions(results, unit.versions)
    selection = select(results, "load")
    usable = [row.percent is not None for row in selection.rows]
    status: Status = "measured" if whole and all(usable) else "partly" if any(usable) else "failed"
    return of_unit(unit, status, *(() if status == "measured" else _reasons(results) or (last,)))


def _require_versions(results: Results, wanted: Versions) -> None:
    """Raise UnfitError when others than the `wanted` versions have measured: Chrome was updated meanwhile, say."""
    for experiment in results.experiments:
        found = Versions(**{name: str(experiment.settings.get(name) or own) for name, own in asdict(wanted).items()})
        if found != wanted:
            raise UnfitError(own_address(), f"it has {found}, and the sweep {wanted}")


def _reasons(results: Results) -> tuple[str, ...]:
    """Return the most frequent reasons why loads do not count, each with how many loads it holds for."""
    counted = Counter(reason for load in results.loads if not load.valid for reason in load.why_not)
    return tuple(f"{count} of {len(results.loads)} loads: {reason}" for reason, count
                 in counted.most_common(MOST_REASONS))


def last_line(log: Path) -> str:
    """Return the last line of what was printed, which says what went wrong."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def read_files(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Return the files `names` of `folder`, and those in folders of these names, by their paths; without links.

    Raises ExperimentError when they have more than LARGEST bytes.
    """
    found: dict[str, bytes] = {}
    size = 0
    for name in names:
        path = folder / name
        whole = path.is_dir() and not path.is_symlink()
        for inside in sorted(f"{name}/{file}" for file in list_files(path)) if whole else [name]:
            try:
                with open_untrusted(folder / inside, limit=ANY_SIZE) as file:
                    found[inside] = file.read()
            except UnreadableFileError:
                continue            # missing, a link or a special file
            size += len(found[inside])
            if size > LARGEST:
                raise ExperimentError(f"{folder}: more than {LARGEST // 2**20} MB")
    return found


def write_files(folder: Path, contents: Contents) -> None:
    """Write files into a new `folder`, and only there. Raises ValueError for a path that leads elsewhere."""
    folder.mkdir()
    for name, content in contents.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ValueError(f"{name[:80]!r} does not belong there")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def own_address() -> str:
    """Return the address of the worker that runs this task, "" outside of one."""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""


def this_machine() -> Machine:
    """Return what this machine is."""
    cpu = next((line for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
                if line.startswith("model name")), "")
    return Machine(socket.gethostname(), platform.release(), os.cpu_count() or 0,
                   " ".join(cpu.partition(":")[2].split()), own_versions().browser)
