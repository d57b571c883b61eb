"""Write a recording into the file that ``fetch.py --to`` names; its ending says what kind."""

import json
from pathlib import Path

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.har import CREATOR, to_har
from harness.files.pages import Page, PageFiles
from harness.mirror.importing import import_recording
from harness.record.export.exchanges import RecordedPage, recorded_pages
from harness.record.export.wacz import write_wacz
from harness.record.export.warc import write_warc
from harness.system.atomic import written_beside
from harness.system.privileges import give, invoking_user

ENDINGS = (".wacz", ".warc.gz", ".warc", ".har")


def export(directory: Path, name: str, pages: list[Page], file: Path) -> str:
    """Write the recording of `pages`, brought into today's format first; return in a line each what was done.

    Raises InputError for an ending that nobody knows, for a file that is there already or cannot be written, and where
    there is no recording.
    """
    kind = next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), "")
    if not kind:
        raise InputError(f"{file}:1: not a kind of file this can write; let its name end in {', '.join(ENDINGS)}")
    if file.exists():
        raise InputError(f"{file}:1: is there already; move it away, or give another name")
    files = PageFiles(directory, name)
    imported = import_recording(files)
    recorded = recorded_pages(files, pages)
    exchanges = [exchange for page in recorded for exchange in page.answered]
    try:
        with written_beside(file) as beside:
            if kind == ".wacz":
                write_wacz(beside, exchanges, pages)
            elif kind == ".har":
                write_har(beside, recorded)
            else:
                write_warc(beside, exchanges)
            give(beside, invoking_user())
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:
            raise
        raise InputError(f"{file}:1: cannot be written ({error.strerror}); give another name") from None
    return "\n".join(filter(None, (imported, f"{file}: {len(pages)} pages with {len(exchanges)} answers")))


def write_har(file: Path, recorded: list[RecordedPage]) -> None:
    """Write the exchanges into `file` as one HAR 1.2 with the bodies in it, decoded as HAR wants them; times are those
    of the pages' own HARs.
    """
    pages, entries = [], []
    for number, each in enumerate(recorded, start=1):
        name = f"page_{number}"
        pages.append(each.times.to_har(each.page.url, name))
        entries += [to_har(exchange, name) for exchange in (*each.answered, *each.live)]
    log = {"version": "1.2", "creator": CREATOR, "pages": pages, "entries": entries}
    file.write_text(json.dumps({"log": log}), encoding="utf-8")
