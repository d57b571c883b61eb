"""The folders that an experiment reads and writes: checked before anything is built, and room made for new results.

They are where the user who called sudo can put anything. One line says it when there is a link, a file in the place of
a folder, or a folder that cannot be written. This check is for people, not for security: somebody can make a link a
moment later, and it leads nowhere that this user could not go (harness.system.privileges.act_as).

What an earlier experiment at the same delays left is moved aside first. Loads that failed by accident are measured
again; the failed try is kept, in a folder of its own.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from harness.analysis.load_tables import refresh_load_tables
from harness.errors import InputError
from harness.files.experiment import experiment_file
from harness.files.pages import BESIDE, CLIENT, FIGURES, HACK_DNS, RUN_LOG, RUN_OPTIONS, SERVER_LOGS, Page, PageFiles
from harness.files.results import attempt_directory, load_file, parse_cell_directory
from harness.files.server_log import directory_name
from harness.system.atomic import move, write_atomically
from harness.system.privileges import User
from harness.system.progress import run_log

DRAWN = (".png", ".svg", ".pdf", ".html")
"""Endings of what plot.py draws; whatever else is in the figures' folder stays there."""


def check_folders(directory: Path, files: PageFiles, user: User) -> None:
    """Raise InputError when `directory` or the experiment's files in it cannot be used by `user`, who we are."""
    require_writable(directory, user)
    for path in _used(directory, files):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link, and none is followed there; put what it leads to in "
                             "its place, or remove it")
    for folder in (directory / CLIENT, directory / SERVER_LOGS):
        if folder.exists():
            require_writable(folder, user)


def _used(directory: Path, files: PageFiles) -> Iterator[Path]:
    """Yield what the experiment uses, and what lies in the folders of its results."""
    yield from (files.pages, files.mirror, files.fetchlog, files.rtts, directory / HACK_DNS)
    for folder in (directory / CLIENT, directory / SERVER_LOGS):
        yield folder
        if folder.is_dir() and not folder.is_symlink():
            yield from sorted(folder.iterdir())


def require_writable(folder: Path, user: User) -> None:
    """Raise InputError when this process, acting as `user`, cannot write in `folder`, or there is none."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: {user.name or f'user {user.uid}'} cannot write there ({error.strerror}); give "
                         f"another --dir, or make it theirs: sudo chown -R {user.uid} {folder}") from None


@contextmanager
def open_results(results_dir: Path, delays_ms: Sequence[float] | None = None, *, resume: bool = False,
                 typed: Sequence[str] | None = None) -> Iterator[None]:
    """Move older results aside (see `set_aside`), unless `resume`; keep a copy of what is printed while this lasts.

    `typed` are the options of a new run of run.sh, which are kept for its --resume. The copy is ``client/run.log``.
    Raises InputError when it cannot be written.
    """
    client = results_dir / CLIENT
    kept = None if resume else set_aside(results_dir, delays_ms)
    client.mkdir(exist_ok=True)
    if typed is not None:
        write_atomically(client / RUN_OPTIONS, "".join(f"{word}\n" for word in typed))
    with run_log(client / RUN_LOG):
        if kept:
            print(f"The earlier results are now in {kept.name}/")
        yield


def set_aside(results_dir: Path, delays_ms: Sequence[float] | None = None) -> Path | None:
    """Move the results of some delays (one way, ms) into ``results-DATE/``, or of all, with what was drawn of them.

    Return that folder, None where there is nothing to move. Where others stay each folder's tables of loads are made
    anew: until the next experiment is done, or if it never begins, they would tell of loads that are not there.
    """
    paths = [path for path in _results(results_dir, delays_ms) if path.exists()]
    if not paths:
        return None
    kept = _new_directory(results_dir)
    for path in paths:
        target = kept / path.relative_to(results_dir)
        target.parent.mkdir(exist_ok=True)
        move(path, target)
    for client in (results_dir / CLIENT, kept / CLIENT) if delays_ms is not None else ():
        with suppress(InputError, OSError):     # files that cannot be read keep nothing from being measured
            refresh_load_tables(client)
    return kept


def _results(results_dir: Path, delays_ms: Sequence[float] | None) -> list[Path]:
    """Return where the results of these delays lie, or all and what was drawn of them; not all need be there."""
    client, server_logs = results_dir / CLIENT, results_dir / SERVER_LOGS
    if delays_ms is None:
        return [client, server_logs, *(path for path in (results_dir / FIGURES).glob("*") if path.suffix in DRAWN)]
    cells = [path for path in client.glob("*") if (cell := parse_cell_directory(path.name)) and cell[0] in delays_ms]
    return [*cells, *(experiment_file(client, delay_ms) for delay_ms in delays_ms),
            *(server_logs / directory_name(delay_ms, tfo) for delay_ms in delays_ms for tfo in (0, 1))]


def _new_directory(results_dir: Path) -> Path:
    """Make a folder that was not there; like run.sh's, it is named by the time."""
    name = f"results-{time.strftime('%Y%m%d-%H%M%S')}"
    paths = (results_dir / (f"{name}-{number}" if number else name) for number in count())
    path = next(path for path in paths if not os.path.lexists(path))
    path.mkdir()
    return path


def begin_try(cell: Path, page: Page) -> int:
    """Make room for another try of `page` in the folder `cell`; return its number, from 1.

    The files of a try before it go into a folder of that try. Those of one that was interrupted before it had a record
    are removed: no number was given to it, and its log and HAR would come to stand beside another try's record.
    """
    attempt = next(number for number in count(1)
                   if not load_file(attempt_directory(cell, number), page.name).exists())
    if not load_file(cell, page.name).exists():
        for name in _names(page):
            (cell / name).unlink(missing_ok=True)
        return attempt
    kept = attempt_directory(cell, attempt)
    for name in _names(page):
        if (cell / name).exists():
            kept.mkdir(exist_ok=True)
            (cell / name).rename(kept / name)
    return attempt + 1


def _names(page: Page) -> list[str]:
    """Return its files' names, the record's last: as long as that is there, the others are not taken for leftovers."""
    return [page.name, *(f"{page.name}{ending}" for ending in reversed(BESIDE))]
