"""The pages of the test internet (tests/support/internet), and their recording, for the benchmarks that load them."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InputError
from harness.files.pages import PageFiles
from tests.support.internet import site, today
from tests.support.internet.recorded import record
from tests.support.internet.server import serve

NAME = "today"
PAGES = (*site.RECORDED, *today.PAGES)
QUIET_S, QUIET_LIMIT_S = 0.5, 3.0
"""These pages are quiet by then, or for ever loud: what tfo.py would wait for besides would double the time."""


def wanted_pages(words: Sequence[str]) -> list[str]:
    """Return the pages whose URLs have one of the `words` of --pages. Raises InputError when there is none."""
    pages = [page for page in PAGES if any(word in page for word in words)]
    if not pages:
        raise InputError(f"--pages {' '.join(words)}: no page of {' '.join(PAGES)}")
    return pages


def record_unless_there(directory: Path) -> None:
    """Record all pages into `directory`, and print the verdicts, unless it has a recording."""
    if PageFiles(directory, NAME).fetchlog.is_dir():
        return
    directory.mkdir(parents=True, exist_ok=True)
    with serve(applications=True) as internet:
        print(record(directory, NAME, internet.remap, internet.ca, PAGES))
