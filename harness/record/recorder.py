"""Record pages: visit each in Chrome, keep what came, and put the recording in place when it is complete."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from harness.browser.program import CLOCK_SHIFT_MS, NET_LOG
from harness.errors import ExperimentError, InputError
from harness.files.pages import Page, PageFiles
from harness.files.urls import names_port
from harness.mirror.manifest import read_manifest
from harness.mirror.store import Store, new_store, remove_recording
from harness.netlog.file import LARGEST_NETLOG_BYTES
from harness.record.page import PageRecording, evaluate
from harness.record.sources.restored import restore
from harness.record.sources.served import ServedSource
from harness.record.verdict import Verdict, judge
from harness.record.visit import VISIT, Visit, VisitSettings, make_visit
from harness.system.background import call_forked
from harness.system.privileges import User, browsing_user, give
from harness.system.scratch import temporary_directory
from harness.system.untrusted import UnreadableFileError, open_untrusted, read_untrusted_json

ROOM_BYTES = 1_000_000
"""What must still fit on the disk after a visit for its net-log to be whole: Chrome writes it in smaller pieces."""


@dataclass
class RecordingOutcome:
    """How it went: a verdict a page, in order, and `kept`, the name under which an older recording still is."""

    verdicts: list[tuple[Page, Verdict]] = field(default_factory=list)
    kept: str = ""
    published: bool = False

    def failed(self) -> list[Page]:
        """Return the pages that could not be recorded."""
        return [page for page, verdict in self.verdicts if not verdict.fit]


def record(files: PageFiles, pages: Sequence[Page], settings: VisitSettings, done: Callable[[str], None], *,
           append: bool = False, note: str = "", source: ServedSource | None = None) -> RecordingOutcome:
    """Record pages and return what came of each; `settings` hold all but the URL of each visit, `done` is told one line
    a page. `source` answers in the place of the Internet, for pages that others recorded.

    A recording of the same name is moved aside once the new one is complete, for `remove_older`. If all pages failed,
    or the disk is full, nothing is changed. Raises InputError when nothing can be written or added to, OSError when the
    disk is full or broken.
    """
    outcome = RecordingOutcome()
    try:
        with new_store(files) as store:
            if append:
                store.continue_from_existing()
            for page in pages:
                began_s = time.monotonic()
                verdict, visit = _record_page(replace(settings, url=page.url), page, store, source)
                settings = replace(settings, user_agent=settings.user_agent or visit.user_agent)
                outcome.verdicts.append((page, verdict))
                done(verdict.line(page.url, time.monotonic() - began_s))
            if len(outcome.failed()) < len(outcome.verdicts):
                store.write_manifest(note)
                outcome.kept = store.publish(keep=not append)
                outcome.published = True
    except OSError as error:
        error.filename = error.filename or str(files.base)      # write() does not say where
        raise
    return outcome


def remove_older(outcome: RecordingOutcome, directory: Path) -> None:
    """Remove the recording that the new one replaces, unless pages of this one are not fit: the older may be better.

    For when the pages have been loaded from the new recording, and the verdicts say what came of it.
    """
    if outcome.kept and not outcome.failed():
        remove_recording(PageFiles(directory, outcome.kept))
        outcome.kept = ""


def to_append(directory: Path, name: str, pages: list[Page]) -> list[Page]:
    """Return those of `pages` that the recording does not have yet: all of them when there is none."""
    listed = read_manifest(PageFiles(directory, name).fetchlog, []).content.get("pages", ())
    recorded = {page.get("url") for page in listed if isinstance(page, dict)}
    return [page for page in pages if page.url not in recorded]


def _record_page(settings: VisitSettings, page: Page, store: Store, source: ServedSource | None
                 ) -> tuple[Verdict, Visit]:
    with _work_dir() as (work_dir, user):
        if source is None:
            visit = _visit(settings, work_dir, user)
        else:
            with source.listening(page.name) as (rules, serve):
                visit = _visit(replace(settings, rules=rules), work_dir, user, serve)
        _require_room(work_dir)
        try:
            with open_untrusted(work_dir / NET_LOG, limit=LARGEST_NETLOG_BYTES):
                recording = evaluate(page.url, visit, work_dir / NET_LOG, CLOCK_SHIFT_MS if source else 0.0)
        except (ExperimentError, UnreadableFileError) as error:
            return Verdict(reasons=[*visit.errors, str(error)]), visit
    if source is not None:
        restore(recording, source.brought)
    verdict = judge(recording)
    if source is not None and source.archive is not None:
        verdict.reasons += source.archive.complaints()
    if verdict.fit:
        _keep(recording, page, verdict, store)
    return verdict, visit


def _keep(recording: PageRecording, page: Page, verdict: Verdict, store: Store) -> None:
    recording.write(store, page.name)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    visit = recording.visit
    store.pages = [kept for kept in store.pages if kept["url"] != page.url]
    store.pages.append({"url": page.url, "page": page.name, "recorded": now, "chrome": visit.chrome, "argv": visit.argv,
                        "user_agent": visit.user_agent, "quiet": visit.quiet} | asdict(verdict))


def _require_room(work_dir: Path) -> None:
    """Raise OSError when the disk of `work_dir` is full: then Chrome's net-log lacks the end, and nothing says so."""
    try:
        with tempfile.TemporaryFile(dir=work_dir) as probe:     # it has no name, so nobody can put a link in its place
            probe.write(bytes(ROOM_BYTES))
            probe.flush()
    except OSError as error:
        error.filename = str(work_dir)
        raise


def _visit(settings: VisitSettings, work_dir: Path, user: User, begun: Callable[[], None] = lambda: None) -> Visit:
    """Have a process of its own make the visit, and end it if it does not end; call `begun` when it is there.

    What it says goes through a file without a name, since `work_dir` is `user`'s, who could put a link in a file's
    place; the shim lies above it.
    """
    if settings.shim:
        settings = replace(settings, shim=Path(shutil.copy(settings.shim, work_dir.parent)))
    with tempfile.TemporaryFile() as output:
        try:
            call = partial(make_visit, settings, work_dir, user)
            status = call_forked(call, "visit", output, settings.hard_limit_s(), begun=begun)
            return Visit(**read_untrusted_json(work_dir / VISIT))
        except subprocess.TimeoutExpired:
            return Visit(errors=[f"it did not end within {settings.hard_limit_s():.0f} s"])
        except (UnreadableFileError, TypeError):
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip().splitlines()
            return Visit(errors=[f"the visit broke off: {said[-1] if said else f'status {status}'}"])


@contextmanager
def _work_dir() -> Iterator[tuple[Path, User]]:
    """Give a directory that belongs to the user Chrome runs as, and that user; it is removed afterwards."""
    user = browsing_user()
    with temporary_directory() as ours:
        work_dir = ours / "visit"
        work_dir.mkdir()
        if os.geteuid() == 0:
            give(work_dir, user)
        yield work_dir, user


def require_recordable(list_file: Path, pages: list[Page]) -> None:
    """Raise InputError for a page that no replay can have."""
    for page in pages:
        if names_port(page.url):
            raise InputError(f"{list_file}:{page.line}: {page.url}: pages on other ports than 80 and "
                             "443 cannot be replayed; take it out")
