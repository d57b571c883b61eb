"""WACZ files (https://specs.webrecorder.net/wacz/1.1.1/): a zip with WARC files and lists of pages.

Who unpacked one and zipped its folder again has that folder around all of it.
"""

import re
import shutil
import zipfile
from pathlib import Path

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.har_file import BROKEN_ZIP, OF_MACOS
from harness.files.urls import document_url
from harness.record.sources.answers import Index
from harness.record.sources.warc import read_warcs
from harness.system.untrusted import LARGEST_FILE, parse_json

MOST_BYTES = 4_000_000_000
"""Of all WARC files in it, as they are packed there."""
LARGEST_LIST = LARGEST_FILE
"""Bytes of a list of pages, and of what describes the file."""
WARC = re.compile(r"(?P<folder>(?:.+?/)?)archive/.+\.warc(?:\.gz)?", re.DOTALL)
ABOUT, FIRST_LIST = "datapackage.json", "pages/pages.jsonl"
LIST = re.compile(r"pages/[^/]+\.jsonl")
"""Lists of pages: the first one has those that the crawl began with, others (extraPages.jsonl) what it came to."""
MAIN_PAGE = "mainpageurl"
"""What `ABOUT` calls the page to open first, in lower case."""


def read_wacz(path: Path, work_dir: Path) -> tuple[Index, list[str]]:
    """Return a WACZ's exchanges and the URLs of its pages; its WARC files are unpacked into `work_dir`.

    Raises InputError when it is no WACZ or would unpack to more than MOST_BYTES.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = {member: match for member in archive.infolist() if not member.filename.startswith(OF_MACOS)
                     and (match := WARC.fullmatch(member.filename))}
            if not found:
                raise InputError(f"{path}:1: no WARC file in it; give a WACZ, as Webrecorder's tools make")
            folder = min((match["folder"] for match in found.values()), key=len)
            members = [member for member, match in found.items() if match["folder"] == folder]
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise InputError(f"{path}:1: cannot be read (over {MOST_BYTES / 1e9:g} GB when unpacked); give a "
                                 "smaller one")
            pages = _pages(path, archive, folder)
            return read_warcs([_unpack(archive, member, work_dir / f"{number}.warc")
                               for number, member in enumerate(members)], path, work_dir), pages
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:     # such as a full disk, while unpacking
            raise
        raise InputError(f"{path}:1: cannot be read ({error.strerror}); give a WACZ file") from None
    except BROKEN_ZIP as error:
        raise InputError(f"{path}:1: not a WACZ ({error}); give a zip as Webrecorder's tools make") from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path) -> Path:
    with archive.open(member) as packed, file.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return file


def _pages(path: Path, archive: zipfile.ZipFile, folder: str) -> list[str]:
    """Return the URLs of all pages that a WACZ names, each once: its main page, then those of its lists."""
    names = [name.removeprefix(folder) for name in archive.namelist() if name.startswith(folder)]
    lists = sorted(filter(LIST.fullmatch, names), key=lambda name: (name != FIRST_LIST, name))
    urls: dict[str, str] = {}
    for name in [name for name in (ABOUT, *lists) if name in names]:
        text = _read(path, archive, folder + name)
        for line in [text] if name == ABOUT else text.split(b"\n"):
            try:
                fields = {str(key).lower(): value for key, value in parse_json(line).items()}
            except (ValueError, AttributeError):
                continue
            url = fields.get(MAIN_PAGE if name == ABOUT else "url")
            if isinstance(url, str):
                urls.setdefault(document_url(url), url)
    return list(urls.values())


def _read(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    listed = archive.getinfo(name)
    if listed.file_size > LARGEST_LIST:
        raise InputError(f"{path}:1: cannot be read (a list of pages of {listed.file_size} bytes); give a smaller one")
    return archive.read(listed)
