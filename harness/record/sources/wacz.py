"""WACZ files (https://specs.webrecorder.net/wacz/1.1.1/): a zip with WARC files and lists of pages.

Who unpacked one and zipped its folder again has that folder around all of it.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness.errors import InputError
from harness.files.packed import OF_MACOS
from harness.files.urls import document_url
from harness.system.untrusted import LARGEST_FILE, parse_json

WARC = re.compile(r"(?P<folder>(?:.+?/)?)archive/.+\.warc(?:\.gz)?", re.DOTALL)
ABOUT, FIRST_LIST = "datapackage.json", "pages/pages.jsonl"
LIST = re.compile(r"pages/[^/]+\.jsonl")
"""Lists of pages: the first one has those that the crawl began with, others (extraPages.jsonl) what it came to."""
MAIN_PAGE = "mainpageurl"
"""What `ABOUT` calls the page to open first, in lower case."""


def warcs_in(source: Path) -> Iterator[IO[bytes]]:
    """Give the WARC files in a WACZ. Raises InputError when there are none."""
    with zipfile.ZipFile(source) as archive:
        yield from map(archive.open, _warcs(source, archive))


def _warcs(source: Path, archive: zipfile.ZipFile) -> list[str]:
    found = {name: match["folder"] for name in archive.namelist() if not name.startswith(OF_MACOS)
             and (match := WARC.fullmatch(name))}
    if not found:
        raise InputError(f"{source}:1: no WARC file in it; give a WACZ, as Webrecorder's tools make")
    folder = min(found.values(), key=len)
    return [name for name, its_folder in found.items() if its_folder == folder]


def wacz_pages(source: Path) -> list[str]:
    """Return the URLs of all pages that a WACZ names, each once: its main page, then those of its lists."""
    urls: dict[str, str] = {}
    with zipfile.ZipFile(source) as archive:
        folder = _warcs(source, archive)[0].partition("archive/")[0]
        names = [name.removeprefix(folder) for name in archive.namelist() if name.startswith(folder)]
        lists = sorted(filter(LIST.fullmatch, names), key=lambda name: (name != FIRST_LIST, name))
        for name in [name for name in (ABOUT, *lists) if name in names]:
            listed = archive.getinfo(folder + name)
            if listed.file_size > LARGEST_FILE:
                raise InputError(f"{source}:1: cannot be read (a list of pages of {listed.file_size} bytes); give a "
                                 "smaller one")
            text = archive.read(listed)
            for line in [text] if name == ABOUT else text.split(b"\n"):
                try:
                    fields = {str(key).lower(): value for key, value in parse_json(line).items()}
                except (ValueError, AttributeError):
                    continue
                url = fields.get(MAIN_PAGE if name == ABOUT else "url")
                if isinstance(url, str):
                    urls.setdefault(document_url(url), url)
    return list(urls.values())
