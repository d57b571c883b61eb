"""``sweep-NAME/``: all that a sweep has. It is on disk at every moment: nothing is lost when a process dies.

    sweep.json                  what was asked for when it was begun or resumed
    driver.lock                 held by the driver while it lives: two drivers would do everything twice
    recordings/PAGE/            a site's own recording: site.pages, site/, site.fetchlog/, or failed.json
    sites/KEY/                  a unit's results: site.json, console.log, client/, serverlogs/
    loads.parquet, sites.csv, report.html, *.png, waterfalls/

A unit's folder appears in one step (rename(2)), and never changes: results are neither half-written nor doubled.
Folders that a killed driver left half-done begin with a dot, and are removed.
"""

import fcntl
import os
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.errors import InputError
from harness.sweep.measuring import Contents, write_files
from harness.sweep.plan import FILE, UnitOutcome, as_json
from harness.system.untrusted import UnreadableFileError, read_untrusted

PREFIX = "sweep-"
STAGING = "."


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
            raise InputError(f"{self.path}: this sweep is running; see ./sweep.py --status {self.name}") from None
        finally:
            os.close(descriptor)

    def results(self, key: str) -> Path:
        """Return where a unit's results are, or will be."""
        return self.sites / key

    def outcome(self, key: str) -> UnitOutcome | None:
        """Return a unit's outcome, None when it was not measured yet. Raises UnreadableFileError."""
        path = self.results(key) / FILE
        if not path.parent.is_dir():
            return None
        content = read_untrusted(path)
        try:
            found = msgspec.json.decode(content, type=UnitOutcome)
        except (ValueError, RecursionError) as error:
            newer = " (newer than this program? update TFO Lab)" if "$.format" in str(error) else ""
            raise UnreadableFileError(path, f"{error}{newer}") from None
        if found.key != key:
            raise UnreadableFileError(path, "it is of another unit")
        return found

    def statuses(self, keys: Iterable[str]) -> Counter[str]:
        """Return how many units have each status, of those that have been measured."""
        return Counter(outcome.status for key in keys if (outcome := self.outcome(key)))

    def store(self, outcome: UnitOutcome, files: Contents) -> None:
        """Keep the results of a unit, in one step. If there are results of it already, these stay."""
        with self.staging(self.sites) as staging:
            write_files(staging / "unit", {**files, FILE: as_json(outcome)})
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
