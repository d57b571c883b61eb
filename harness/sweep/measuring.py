"""A worker's side of a sweep: has one unit measured by tfo.py on this machine, and says whether the machine can.

The worker begins as root, since tfo.py does. Among the folders with recordings and results it is the user who called
sudo, whatever links lie there.
"""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath

from harness.analysis.selection import select
from harness.bootstrap import ROOT
from harness.errors import ExitStatus, ExperimentError, InputError
from harness.files.pages import CLIENT, SERVER_LOGS, PageFiles
from harness.files.reason_kinds import ReasonKind
from harness.files.results import has_loads, read_results
from harness.mirror.paths import list_files
from harness.sweep.plan import Status, Unit, UnitOutcome, Versions, of_unit, own_versions
from harness.system.options import plain
from harness.system.privileges import act_as, as_root, invoking_user, require_root
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
LONGEST_S = 24 * 3600.0
"""How long one site may take. tfo.py bounds every load itself, so this is for what nobody thought of."""
BUSY_S = 10.0
"""How often it is tried again while another experiment runs on the machine."""
ENDING_S = 20.0
"""What tfo.py may take to clean up."""
MOST_REASONS = 3
"""Kinds of reasons against loads that a unit's row names."""
Contents = Mapping[str, bytes]
"""Files by their path in a folder."""


Patience = tuple[float, float]
"""How long, in s, to wait for another experiment's end, and for other programs to leave the machine alone."""


class NotMeasuredError(Exception):
    """A unit has no improvement, and another try may give one: Dask tries again. Its argument: outcome, and files."""

    def __str__(self) -> str:
        """Return the reasons. (An exception whose text is long does not keep its arguments in Dask.)"""
        return "; ".join(self.args[0][0].why)


def measure(unit: Unit, recording: Contents, patience: Patience) -> tuple[UnitOutcome, Contents]:
    """Measure a unit; return its outcome, and its files. This is a task of Dask's.

    Raises NotMeasuredError where another try may succeed.
    """
    status, files = 0, dict[str, bytes]()
    if why := _why_unfit(unit.versions):
        outcome = of_unit(unit, "unfit", why)
    else:
        act_as(invoking_user())
        with temporary_directory() as scratch:
            work_dir = scratch / "unit"
            write_files(work_dir, recording)
            try:
                status = run_tfo(unit, work_dir, patience)
                outcome = judge(unit, work_dir, status)
            except (ExperimentError, OSError) as error:
                outcome = of_unit(unit, "failed", f"the machine: {error}")
            files = read_files(work_dir, RESULTS) | read_files(scratch, (CONSOLE,))
    result = replace(outcome, machine=socket.gethostname()), files
    if outcome.status == "failed" and status != ExitStatus.WRONG_INPUT:
        raise NotMeasuredError(result)
    return result


def _why_unfit(versions: Versions) -> str:
    """Return why this worker can measure nothing with these `versions`, "" when it can.

    What else may be missing on the machine, tfo.py says by its exit status.
    """
    try:
        require_root("./sweep.py (a worker)")
        found = own_versions()
    except InputError as error:
        return str(error)
    return "" if found == versions else f"it has {found}, and the sweep {versions}"


def run_tfo(unit: Unit, work_dir: Path, patience: Patience) -> int:
    """Run tfo.py on the recording in `work_dir`, after the end of another experiment; return its exit status.

    If this process is killed, tfo.py ends as it does on Ctrl-C, and cleans up.
    """
    wait_s, patience_s = patience
    command = ["setpriv", "--pdeathsig", "TERM", "--", sys.executable, str(ROOT / "tfo.py"), "--name", SITE,
               "--dir", str(work_dir), "--patience", plain(patience_s), *unit.options]
    deadline_s = time.monotonic() + wait_s
    while (status := _run(command, work_dir.parent / CONSOLE)) == ExitStatus.BUSY and time.monotonic() < deadline_s:
        time.sleep(BUSY_S)
    return status


def _run(command: list[str], console: Path) -> int:
    with console.open("wb") as log:
        with as_root():
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                                       env={**os.environ, "PYTHONUNBUFFERED": "1"})
        try:
            return process.wait(LONGEST_S)
        except subprocess.TimeoutExpired as error:
            raise ExperimentError(f"tfo.py did not end within {error.timeout:g} s") from None
        finally:
            stop(process, ENDING_S)


def judge(unit: Unit, work_dir: Path, exit_status: int) -> UnitOutcome:
    """Return the unit's outcome by what is in ``client/``, and by tfo.py's exit status."""
    last = last_line(work_dir.parent / CONSOLE)
    if exit_status == ExitStatus.UNAVAILABLE:
        return of_unit(unit, "unfit", last)
    if not has_loads(work_dir / CLIENT):
        return of_unit(unit, "failed", last)
    results = read_results(work_dir / CLIENT)
    for name, wanted in asdict(unit.versions).items():      # Chrome was updated meanwhile, say
        for experiment in results.experiments:
            if (found := experiment.settings.get(name, wanted)) != wanted:
                return of_unit(unit, "unfit", f"it has {found}, and the sweep {wanted}")
    selection = select(results, "load")
    usable = [row.percent is not None for row in selection.rows]
    whole = exit_status == ExitStatus.DONE and all(usable)
    status: Status = "measured" if whole else "partly" if any(usable) else "failed"
    kinds = Counter(kind.value for load in results.loads if not load.valid
                    for kind in set(load.record.why_not_kinds if load.record else (ReasonKind.OTHER,)))
    reasons = [f"{count} of {len(results.loads)} loads: {kind}" for kind, count in kinds.most_common(MOST_REASONS)]
    return of_unit(unit, status, *([] if whole else reasons or [last]))


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
