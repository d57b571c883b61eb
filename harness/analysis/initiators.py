"""What Chrome said of a page's requests when the page warmed up (run 0), for another load of it.

To note who asked for what takes time, so only loads that never count do. Both loads got recorded answers: a request is
known again by the answer that it got (ReceivedAnswer.identity) where its URL differs, as one does with the time in it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from harness.files.load_parts import Initiator
from harness.files.load_record import LoadRecord, read_load_record
from harness.files.results import load_file
from harness.files.urls import without_fragment
from harness.system.untrusted import UnreadableFileError

WARM_UPS = "*-0-tfo-*"
"""The folders of run 0 (harness.files.results.cell_directory)."""


def read_warm_up(client_dir: Path, page: str) -> LoadRecord | None:
    """Return a record that tells the initiators of `page`; None without one. At which delay it was is all the same."""
    files = [load_file(cell, page) for cell in sorted(client_dir.glob(WARM_UPS))]
    records = (_read(path, path.stat().st_mtime_ns) for path in files if path.is_file())
    return next((record for record in records if record and record.initiators), None)


def initiators_of(record: LoadRecord, warm_up: LoadRecord | None) -> Sequence[Initiator]:
    """Return the initiators of the requests of the load of `record`, in Chrome's order; none without a `warm_up`."""
    if record.initiators is not None or warm_up is None:
        return record.initiators or ()
    then, now = _urls(warm_up), _urls(record)
    known = {*now.values()}
    other = {url: now[answer] for answer, url in then.items() if url not in known and answer in now}
    return [replace(said, url=other.get(said.url, said.url), by=other.get(said.by, said.by))
            for said in warm_up.initiators or ()]


def _urls(record: LoadRecord) -> dict[str, str]:
    """Return by its identity the URL that got each answer."""
    each = record.answers.each if record.answers else ()
    return {answer.identity: without_fragment(answer.url) for answer in each if answer.identity}


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> LoadRecord | None:
    try:
        return read_load_record(path)
    except UnreadableFileError:
        return None
