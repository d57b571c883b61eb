"""Write a recording of a few resources that a program makes itself, as fetch.py writes that of a page it records."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.files.pages import PageFiles, sanitise
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.mirror.importing import complete
from harness.mirror.paths import write_file


@dataclass(frozen=True)
class MadeResource:
    """What a URL answers: a MIME type, and a body, in UTF-8 if it is text."""

    mime_type: str
    body: bytes


def write_small_recording(files: PageFiles, resources: Mapping[str, MadeResource], note: str = "") -> None:
    """Write list, mirror and fetchlog of one page: the first URL of `resources`, which are all that it asks for.

    The manifest says that it was made, and `note`.
    """
    page = next(iter(resources))
    for url, resource in resources.items():
        write_file(files.mirror, url, resource.body)
    log = PageLog([], [Transaction(0, 1, url) for url in resources],
                  [Response("OK", resource.mime_type, "utf-8", url, None) for url, resource in resources.items()], True)
    files.fetchlog.mkdir()
    (files.fetchlog / sanitise(page)).write_text(format_log(log), encoding="ascii")
    complete(files.fetchlog, files.mirror, "made", {"note": note})
    files.pages.write_text(f"{page}\n", encoding="ascii")
