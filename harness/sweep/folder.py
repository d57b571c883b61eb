"""``sweep-NAME/``: all that a sweep has. It is on disk at every moment: nothing is lost when a process dies.

    sweep.json                  what was asked for when it was begun or resumed
    progress.json               how far it is (--status)
    driver.lock                 held by the driver while it lives: two drivers would do everything twice
    recordings/PAGE/            a site's own recording: site.pages, site/, site.fetchlog/, or failed.json
    sites/KEY/                  a unit's results: site.json, console.log, client/, serverlogs/
    loads.parquet, sites.csv, report.html, *.png, waterfalls/

A unit's folder appears in one step (rename(2)), and never changes: results are neither half-written nor doubled.
Folders that a killed driver left half-done begin with a dot, and are removed.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import struct
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import ExitStatus, ExperimentError, InputError, printable
from harness.sweep.measuring import Contents, write_files
from harness.sweep.plan import FILE, UnitOutcome, read_outcome
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted, read_untrusted_json

PREFIX = "sweep-"
STAGING = "."
ENDING_S = 90.0
"""How long a sweep may take to end: its worker's tfo.py cleans up."""
LOCK = "hhqqi4x"
"""struct flock (fcntl(2)): kind, from where, start, length, and the process that has the lock."""


class SweepFolder:
    """One sweep's folder."""

    def __init__(self, base: Path, name: str) -> None:
        """Name the paths of the sweep `name` in the folder `base`; make nothing yet."""
        self.name = name
        self.path = base / f"{PREFIX}{name}"
        self.sites = self.path / "sites"
        self.recordings = self.path / "recordings"

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
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in (*self.sites.glob(f"{STAGING}*"), *self.recordings.glob(f"{STAGING}*")):
                shutil.rmtree(left, ignore_errors=True)
            yield
        except BlockingIOError:
            raise InputError(f"{self.path}: this sweep is running (pid {self.driver()}); see ./sweep.py --status "
                             f"{self.name}") from None
        finally:
            os.close(descriptor)

    def driver(self) -> int | None:
        """Return the process id of the driver that has this sweep, None when none has.

        Raises InputError where only the sweep's own user may know.
        """
        try:
            descriptor = os.open(self.path / "driver.lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except PermissionError:
            raise InputError(f"{self.path}: this sweep is another user's; put sudo in front of ./sweep.py") from None
        except OSError:
            return None
        try:
            asked = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        finally:
            os.close(descriptor)
        kind, *_, pid = struct.unpack(LOCK, asked)
        return None if kind == fcntl.F_UNLCK else int(pid)

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

    def statuses(self, keys: Iterable[str]) -> Counter[str]:
        """Return how many units have each status, of those that have been measured."""
        return Counter(outcome.status for key in keys if (outcome := self.outcome(key)))

    def store(self, outcome: UnitOutcome, files: Contents) -> None:
        """Keep the results of a unit, in one step. If there are results of it already, these stay."""
        with self.staging(self.sites) as staging:
            write_files(staging / "unit", {**files, FILE: outcome.to_json().encode()})
            os.sync()       # a rename may be on the disk before the files are
            if not self.results(outcome.key).is_dir():
                (staging / "unit").rename(self.results(outcome.key))

    @contextmanager
    def staging(self, parent: Path) -> Iterator[Path]:
        """Give a folder in `parent` whose content is moved when it is complete; what is left in it is removed."""
        folder = parent / f"{STAGING}{uuid.uuid4().hex}"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def forget_failures(self) -> int:
        """Remove the recordings and units that failed, so that they are tried again; return how many there were."""
        failed = [path.parent for path in self.recordings.glob("*/failed.json")]
        failed += [path.parent for path in self.sites.glob(f"*/{FILE}")
                   if (outcome := self.outcome(path.parent.name)) and outcome.status == "failed"]
        for folder in failed:
            with self.staging(folder.parent) as staging:
                folder.rename(staging / folder.name)
        return len(failed)

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write ``sweep.json`` or ``progress.json``."""
        write_atomically(self.path / name, json.dumps({"format": 2, **content}, indent=1) + "\n")

    def read(self, name: str) -> dict[str, Any]:
        """Return what stands in such a file, {} where there is none."""
        try:
            found = read_untrusted_json(self.path / name)
        except UnreadableFileError:
            return {}
        return found if isinstance(found, dict) else {}


def sweeps(base: Path) -> list[str]:
    """Return the names of all sweeps in a folder; the one that was begun or resumed last is at the end."""
    found = [path.parent for path in base.glob(f"{PREFIX}*/sweep.json")]
    return [path.name.removeprefix(PREFIX) for path in sorted(found, key=lambda path: path.stat().st_mtime)]


def status(options: argparse.Namespace) -> int:
    """Say how far a sweep is; the exit status is 0 when all of it is done."""
    folder = named(options, options.status)
    found, driver = Counter(folder.read("progress.json")), folder.driver()
    state = f"running (pid {driver})" if driver else "not running"
    far = (f"recordings of {found['recorded']} of {found['pages']} pages done, no site is measured yet"
           if found["pages"] else f"{found['done']} of {found['sites']} sites done, {found['failed']} of them failed, "
           f"{found['partly']} partly measured")
    print(printable(f"sweep-{folder.name}: {state}; {far}"))
    return ExitStatus.DONE if found["sites"] and found["done"] == found["sites"] else ExitStatus.INCOMPLETE


def halt(options: argparse.Namespace) -> int:
    """End a sweep's driver, and wait until it has. Raises ExperimentError when it does not end."""
    folder = named(options, options.stop)
    driver = folder.driver()
    if driver is None:
        raise InputError(f"{folder.path}: this sweep is not running; nothing to stop")
    try:
        os.kill(driver, signal.SIGTERM)
    except PermissionError:
        raise InputError(f"{folder.path}: another user runs this sweep; run: sudo ./sweep.py --stop "
                         f"{folder.name}") from None
    deadline_s = time.monotonic() + ENDING_S
    while folder.driver() is not None:
        if time.monotonic() > deadline_s:
            raise ExperimentError(f"{folder.path}: has not ended {ENDING_S:g} s after SIGTERM (pid {driver}); wait, "
                                  f"and see ./sweep.py --status {folder.name}")
        time.sleep(0.2)
    print(f"stopped; go on with: sudo ./sweep.py --resume {folder.name}")
    return ExitStatus.DONE


def named(options: argparse.Namespace, name: str | bool) -> SweepFolder:
    """Return the sweep that --status or --stop means: without a name the one that was begun last.

    Raises InputError when there is none.
    """
    names = sweeps(options.dir)
    if not names or (name and name not in names):
        raise InputError(f"{options.dir}: no such sweep there; those there are: {', '.join(names) or 'none'}")
    return SweepFolder(options.dir, str(name or names[-1]))
