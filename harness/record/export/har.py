"""A recording as one HAR 1.2 file with the bodies in it, decoded as HAR wants them."""

import json
from pathlib import Path

from harness.files.har import CREATOR, to_har
from harness.record.export.exchanges import RecordedPage


def write_har(file: Path, recorded: list[RecordedPage]) -> None:
    """Write the exchanges into `file`; times are those of the pages' own HARs."""
    pages, entries = [], []
    for number, each in enumerate(recorded, start=1):
        name = f"page_{number}"
        pages.append({**each.about, "id": name, "title": each.page.url})
        entries += [to_har(exchange, name) for exchange in (*each.answered, *each.live)]
    log = {"version": "1.2", "creator": CREATOR, "pages": pages, "entries": entries}
    file.write_text(json.dumps({"log": log}), encoding="utf-8")
