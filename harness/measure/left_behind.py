"""Takes over the files that load_page.py left behind from the user it ran as.

None of them is trusted: Chrome runs as the same user, and a hostile page may have taken over Chrome. When all of these
processes have ended, each file is opened only if it is a regular file of that user and not too large, and never
through a link (harness.system.untrusted).
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.browser.program import DRIVER_OUTPUT
from harness.files.result_names import KEPT_LOGS
from harness.measure.client_log import REPORT
from harness.system.atomic import write_atomically, written_beside
from harness.system.privileges import User
from harness.system.untrusted import (
    ANY_SIZE,
    LARGEST_FILE,
    UnreadableFileError,
    open_untrusted,
    read_untrusted,
    read_untrusted_json,
)

MOST_OUTPUT = 64 * 2**10
"""Bytes that are kept of each program's words: the last ones."""


@dataclass(frozen=True)
class LeftBehind:
    """The files of a load in `scratch`, made by `maker`; what is kept goes to `directory`."""

    scratch: Path
    maker: User
    directory: Path
    page: str

    def keep_logs(self) -> None:
        """Keep the load's log and HAR. A file that cannot be read is left out: the report says why the load failed."""
        for name in (self.page, f"{self.page}.har"):
            try:
                content = read_untrusted(self.scratch / name, owner=self.maker.uid)
            except UnreadableFileError:
                continue
            write_atomically(self.directory / name, content)

    def report(self, complaint: str, limit: int = LARGEST_FILE) -> dict[str, Any]:
        """Return what load.json says; when it cannot be read, {"errors": [the `complaint` of load_page.py, or why]}."""
        try:
            report = read_untrusted_json(self.scratch / REPORT, limit=limit, owner=self.maker.uid)
        except UnreadableFileError as error:
            return {"errors": [complaint or f"load_page.py left no report: {error.why}"]}
        if not isinstance(report, dict):
            return {"errors": [complaint or "load_page.py left no report: no JSON object"]}
        return report

    def keep_capture(self, made: Path) -> None:
        """Keep the captured packets. They are of any size: tcpdump wrote them."""
        if made.is_file():
            with made.open("rb") as source, \
                    written_beside(self.directory / f"{self.page}.pcap") as beside, beside.open("wb") as target:
                shutil.copyfileobj(source, target)

    def keep_output(self, output: IO[bytes]) -> list[str]:
        """Keep the last output of chromedriver and Chrome, and load_page.py's `output`; return the files' names."""
        try:
            with open_untrusted(self.scratch / DRIVER_OUTPUT, limit=ANY_SIZE, owner=self.maker.uid) as file:
                drivers = end_of(file)
        except UnreadableFileError as error:
            drivers = f"{DRIVER_OUTPUT}: {error.why}\n".encode()
        names = [f"{self.page}{ending}" for ending in KEPT_LOGS]
        for name, content in zip(names, (drivers, end_of(output)), strict=True):
            write_atomically(self.directory / name, content)
        return names


def end_of(file: IO[bytes]) -> bytes:
    """Return the last MOST_OUTPUT bytes of an open file."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_OUTPUT))
    return file.read(MOST_OUTPUT)
