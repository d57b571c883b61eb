"""Loads that failed by accident are measured again; the failed try is kept, in a folder of its own."""

from pathlib import Path

from harness.files.pages import Page
from harness.files.results import BESIDE, attempt_directory
from harness.system.options import Whole
from harness.system.privileges import User, acting_as

RETRIES = 2
"""Further tries that a load gets by default. What fails three times in a row is no accident any more."""
RETRIES_ALLOWED = Whole(0, 10)


def set_aside(cell: Path, page: Page, attempt: int, owner: User) -> None:
    """Move the files of a failed try of `page` from the folder `cell` into a folder of that try, `attempt` (from 1)."""
    kept = attempt_directory(cell, attempt)
    with acting_as(owner):
        for name in (page.name, *(f"{page.name}{ending}" for ending in BESIDE)):
            if (cell / name).exists():
                kept.mkdir(exist_ok=True)
                (cell / name).rename(kept / name)
