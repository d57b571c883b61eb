"""WACZ files (https://specs.webrecorder.net/wacz/1.1.1/): a zip with WARC files and a list of pages."""

import shutil
import zipfile
from pathlib import Path

from harness.errors import InputError
from harness.record.sources.answers import Index
from harness.record.sources.warc import read_warcs
from harness.system.untrusted import parse_json

MOST_BYTES = 4_000_000_000
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
                raise InputError(f"{path}:1: over {MOST_BYTES / 1e9:g} GB when unpacked; give a smaller one")
            index = read_warcs([_unpack(archive, member, work_dir / f"{number}-{Path(member.filename).name}")
                                for number, member in enumerate(members)])
            return index, _pages(archive)
    except OSError as error:
        if error.filename is None:
            raise
        raise InputError(f"{path}:1: cannot be read ({error.strerror}); give a WACZ file") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:    # a method or password we do not have
        raise InputError(f"{path}:1: not a WACZ ({error}); give a zip as Webrecorder's tools make") from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path) -> Path:
    with archive.open(member) as packed, file.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return file


def _pages(archive: zipfile.ZipFile) -> list[str]:
    """Return the URLs in pages/pages.jsonl, each once: its first line is about the list."""
    try:
        lines = archive.read("pages/pages.jsonl").decode("utf-8", "replace").splitlines()
    except KeyError:
        return []
    urls: dict[str, None] = {}
    for line in lines:
        try:
            url = parse_json(line)["url"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(url, str):
            urls[url] = None
    return list(urls)
