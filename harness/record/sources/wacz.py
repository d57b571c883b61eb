"""WACZ files (https://specs.webrecorder.net/wacz/1.1.1/): a zip with WARC files and a list of pages."""

import shutil
import zipfile
from pathlib import Path

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.har_file import BROKEN_ZIP
from harness.record.sources.answers import Index
from harness.record.sources.warc import read_warcs
from harness.system.untrusted import LARGEST_FILE, parse_json

MOST_BYTES = 4_000_000_000
"""Of all WARC files in it, as they are packed there."""
LARGEST_LIST = LARGEST_FILE
"""Bytes of its list of pages."""
WARC_ENDINGS = (".warc", ".warc.gz")


def read_wacz(path: Path, work_dir: Path) -> tuple[Index, list[str]]:
    """Return a WACZ's exchanges and the URLs of its pages; its WARC files are unpacked into `work_dir`.

    Raises InputError when it is no WACZ or would unpack to more than MOST_BYTES.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist()
                       if member.filename.startswith("archive/") and member.filename.endswith(WARC_ENDINGS)]
            if not members:
                raise InputError(f"{path}:1: no WARC file in it; give a WACZ, as Webrecorder's tools make")
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise InputError(f"{path}:1: cannot be read (over {MOST_BYTES / 1e9:g} GB when unpacked); give a "
                                 "smaller one")
            pages = _pages(path, archive)
            return read_warcs([_unpack(archive, member, work_dir / f"{number}.warc")
                               for number, member in enumerate(members)], path), pages
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


def _pages(path: Path, archive: zipfile.ZipFile) -> list[str]:
    """Return the URLs in pages/pages.jsonl, each once: its first line is about the list."""
    try:
        listed = archive.getinfo("pages/pages.jsonl")
    except KeyError:
        return []
    if listed.file_size > LARGEST_LIST:
        raise InputError(f"{path}:1: cannot be read (a list of pages of {listed.file_size} bytes); give a smaller one")
    lines = archive.read(listed).decode("utf-8", "replace").splitlines()
    urls: dict[str, None] = {}
    for line in lines:
        try:
            url = parse_json(line)["url"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(url, str):
            urls[url] = None
    return list(urls)
