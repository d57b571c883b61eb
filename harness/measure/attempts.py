"""Loads that failed by accident are measured again; the failed try is kept, in a folder of its own."""

from pathlib import Path

from harness.files.pages import Page
from harness.files.result_names import BESIDE
from harness.files.results import attempt_directory, load_file


def keep_failed_try(cell: Path, page: Page, attempt: int) -> None:
    """Move the files of a failed try of `page` from the folder `cell` into a folder of that try, `attempt` (from 1)."""
    kept = attempt_directory(cell, attempt)
    for name in _names(page):
        if (cell / name).exists():
            kept.mkdir(exist_ok=True)
            (cell / name).rename(kept / name)


def remove_cut_short(cell: Path, page: Page) -> None:
    """Remove what a try of `page` left in the folder `cell` that was interrupted before it had a record.

    No number was given to it: its log and HAR would come to stand beside the record of another try.
    """
    if not load_file(cell, page.name).exists():
        for name in _names(page):
            (cell / name).unlink(missing_ok=True)


def _names(page: Page) -> list[str]:
    """Return its files' names, the record's last: as long as that is there, the others are not taken for leftovers."""
    return [page.name, *(f"{page.name}{ending}" for ending in reversed(BESIDE))]
