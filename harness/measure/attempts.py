"""Loads that failed by accident are measured again; the failed try is kept, in a folder of its own."""

from itertools import count
from pathlib import Path

from harness.files.pages import Page
from harness.files.result_names import BESIDE
from harness.files.results import attempt_directory, load_file


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
