"""``sweep-NAME/``: all that a sweep has. It is on disk at every moment: nothing is lost when a process dies.

    sweep.json                  what was asked for last
    progress.json               how far it is (--status)
    driver.lock                 held by the driver while it lives: two drivers would do everything twice
    scheduler, worker.log       the scheduler's address, for this machine's worker; what that worker prints
    recordings/PAGE/            a site's own recording: site.pages, site/, site.fetchlog/, or failed.json
    sites/KEY/                  a unit's results: site.json, console.log, client/, serverlogs/
    loads.parquet, loads.csv, sites.csv, report.html, *.png, waterfalls/

A unit's folder appears in one step (rename(2)) when all of it is on the disk, and never changes: results are neither
half-written nor doubled. Folders that a killed driver left half-done begin with a dot, and are removed.
"""

import fcntl
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.pages import Page
from harness.sweep.measuring import RESULTS
from harness.sweep.outcome import FILE, UnitOutcome, read_outcome
from harness.sweep.parcel import unpack
from harness.sweep.plan import Unit
from harness.system.atomic import write_atomically
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted, read_untrusted_json

PREFIX = "sweep-"
STAGING = "."
STATUS_S, AGAIN_S = 1.0, 0.01
"""How long others may take to look whether there is a driver (SweepFolder.driver); how often its lock is tried then."""
MARGIN_BYTES = 10**9
"""Room on the disk under which a sweep takes no more results."""


class SweepFolder:
    """One sweep's folder."""

    def __init__(self, base: Path, name: str) -> None:
        """Name the paths of the sweep `name` in the folder `base`; make nothing yet."""
        self.name = name
        self.path = base / f"{PREFIX}{name}"
        self.sites = self.path / "sites"
        self.recordings = self.path / "recordings"
        self.scheduler_file = self.path / "scheduler"
        self.worker_log = self.path / "worker.log"

    def make(self) -> None:
        """Make those folders that are not there. Raises InputError when one cannot be written: another user's, say."""
        try:
            for folder in (self.path, self.sites, self.recordings):
                folder.mkdir(exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made or written ({error.strerror}); give another --dir") from None

    @contextmanager
    def only_driver(self) -> Iterator[None]:
        """Hold this sweep while this lasts, and remove what a killed driver left half-done.

        Raises InputError when another driver has it.
        """
        descriptor = os.open(self.path / "driver.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if not _is_ours(descriptor):
                raise self._is_running(os.pread(descriptor, 20, 0).decode(errors="replace"))
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            self._tidy_up()
            yield
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def _tidy_up(self) -> None:
        """Remove what a killed driver, or a power cut, left half-done: it is measured again."""
        for folder in (self.sites, self.recordings):
            for left in folder.glob(f"{STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
        for folder in self.sites.iterdir():
            if folder.is_dir() and _half_written(folder / FILE):
                _remove(folder)

    def check_free(self) -> None:
        """Raise InputError when another driver has this sweep."""
        if driver := self.driver():
            raise self._is_running(str(driver))

    def _is_running(self, driver: str) -> InputError:
        return InputError(f"{self.path}: this sweep is running (pid {driver}); see ./sweep.py --status {self.name}")

    def driver(self) -> int | None:
        """Return the process id of the driver that has this sweep, None when none has.

        Raises InputError where only the sweep's own user may know.
        """
        try:
            descriptor = os.open(self.path / "driver.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except PermissionError:
            raise InputError(f"{self.path}: this sweep is another user's; put sudo in front of ./sweep.py") from None
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(descriptor, 20, 0).decode(errors="replace")
            return int(text) if text.isdecimal() else None
        finally:
            os.close(descriptor)
        return None

    def recording(self, page: Page) -> Path:
        """Return where a page's own recording is, or will be."""
        return self.recordings / page.name

    def results(self, key: str) -> Path:
        """Return where a unit's results are, or will be."""
        return self.sites / key

    def outcome(self, key: str) -> UnitOutcome | None:
        """Return a unit's outcome, None when it was not measured yet. Raises UnreadableFileError."""
        path = self.results(key) / FILE
        if not path.parent.is_dir():
            return None
        try:
            return read_outcome(read_untrusted(path))
        except UnreadableFileError:
            raise
        except ValueError as error:
            raise UnreadableFileError(path, str(error)) from None

    def store(self, unit: Unit, parcel: bytes, keep: Callable[[UnitOutcome], bool] = lambda _: True) -> UnitOutcome:
        """Keep the results of a unit that a worker sent, in one step; return the outcome in them.

        They are not kept when the worker refused the unit, or when `keep` says no to the outcome. If there are results
        of the unit already, these stay. Raises ValueError, and keeps nothing, if the parcel is not the unit's results.
        """
        staging = self.sites / f"{STAGING}{uuid.uuid4().hex}"
        staging.mkdir()
        try:
            unpack(parcel, staging, RESULTS, to_disk=True)
            outcome = read_outcome(read_untrusted(staging / FILE))
            if not outcome.is_of(unit):
                raise ValueError(f"it is of {outcome.url[:80]!r} ({outcome.key[:40]!r}), or measured otherwise, not of "
                                 f"{unit.url!r} ({unit.key})")
            if outcome.status != "refused" and keep(outcome):
                self._publish(staging, unit.key)
            return outcome
        except UnreadableFileError as error:
            raise ValueError(error.why) from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def store_failure(self, outcome: UnitOutcome) -> UnitOutcome:
        """Keep the outcome of a unit that cannot be measured, which no worker sent."""
        staging = self.sites / f"{STAGING}{uuid.uuid4().hex}"
        staging.mkdir()
        try:
            with (staging / FILE).open("w") as file:
                file.write(replace(outcome, status="failed").to_json())
                file.flush()
                os.fsync(file.fileno())
            self._publish(staging, outcome.key)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return outcome

    def _publish(self, staging: Path, key: str) -> None:
        if self.results(key).is_dir():
            return
        try:
            staging.rename(self.results(key))
        except OSError:
            if not self.results(key).is_dir():      # somebody else was faster, and that is as good
                raise
        _sync(self.sites)

    def forget_failures(self) -> int:
        """Remove the recordings and units that failed, so that they are tried again; return how many there were."""
        failed = [path.parent for path in self.recordings.glob("*/failed.json")]
        failed += [path.parent for path in self.sites.glob(f"*/{FILE}")
                   if (outcome := self.outcome(path.parent.name)) and outcome.status == "failed"]
        for folder in failed:
            _remove(folder)
        return len(failed)

    def check_room(self) -> None:
        """Raise InputError when the disk has no room for more."""
        if shutil.disk_usage(self.path).free < MARGIN_BYTES:
            raise InputError(f"{self.path}: less than {MARGIN_BYTES // 10**9} GB free on this disk; make room and go "
                             f"on with ./sweep.py --resume {self.name}")

    def write_asked(self, asked: Mapping[str, Any]) -> None:
        """Note what was asked for, for --resume."""
        write_atomically(self.path / "sweep.json", json.dumps({"format": 1, **asked}, indent=1) + "\n")

    def read_asked(self) -> dict[str, Any]:
        """Return what was asked for. Raises InputError where there is no such sweep."""
        try:
            found = read_untrusted_json(self.path / "sweep.json")
        except UnreadableFileError:
            raise InputError(f"{self.path}: no sweep there; begin one with ./sweep.py --pages LIST") from None
        return found if isinstance(found, dict) else {}

    def write_progress(self, progress: Mapping[str, Any]) -> None:
        """Note how far the sweep is."""
        write_atomically(self.path / "progress.json",
                         json.dumps({"format": 1, "at_s": round(time.time()), **progress}, indent=1) + "\n")

    def read_progress(self) -> dict[str, Any]:
        """Return how far the sweep was when that was noted last; {} when it never was."""
        try:
            found = read_untrusted_json(self.path / "progress.json")
        except UnreadableFileError:
            return {}
        return found if isinstance(found, dict) else {}


def _is_ours(descriptor: int) -> bool:
    """Try to get the driver's lock, for as long as somebody may have it who only looks; tell whether we have it."""
    deadline_s = time.monotonic() + STATUS_S
    while not _lock(descriptor):
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(AGAIN_S)
    return True


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sweeps(base: Path) -> list[str]:
    """Return the names of all sweeps in a folder; the one that was begun or resumed last is at the end."""
    found = [path.parent for path in base.glob(f"{PREFIX}*/sweep.json")]
    return [path.name.removeprefix(PREFIX) for path in sorted(found, key=lambda path: path.stat().st_mtime)]


def _half_written(path: Path) -> bool:
    """Tell whether a site.json is missing or no JSON. What cannot be read for another reason is left to its reader."""
    try:
        json.loads(read_untrusted(path))
    except MissingFileError:
        return True
    except UnreadableFileError:
        return False
    except ValueError:
        return True
    return False


def _remove(folder: Path) -> None:
    """Remove a folder as it came, in one step: should we be killed, the next driver removes the rest."""
    staging = folder.parent / f"{STAGING}{uuid.uuid4().hex}"
    folder.rename(staging)
    shutil.rmtree(staging, ignore_errors=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
