"""The list of pages an experiment loads (``NAME.pages``) and the names they go by in files."""

import string
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError

KEPT_CHARACTERS = frozenset("-_.() " + string.ascii_letters + string.digits)


@dataclass(frozen=True)
class Page:
    """One page of the experiment: its URL and the file name its logs go by."""

    url: str
    name: str


def sanitise(url: str) -> str:
    """Return `url` as a file name: only ``-_.() ``, ASCII letters and digits are kept."""
    return "".join(character for character in url if character in KEPT_CHARACTERS)


def read_pages(path: Path) -> list[Page]:
    """Read a ``.pages`` file: one URL per line, blank lines ignored.

    Raises InputError (``file:line: problem``) when the file is missing, unreadable or empty, when a line is not
    an http or https URL, or when two lines give the same file name.
    """
    pages: dict[str, tuple[int, Page]] = {}
    for number, line in enumerate(_lines(path), start=1):
        url = line.strip()
        if not url:
            continue
        page = Page(url, sanitise(url))
        _check_url(page, f"{path}:{number}")
        if page.name in pages:
            first_number, first = pages[page.name]
            raise InputError(f"{path}:{number}: {url} has the same file name ({page.name}) as {first.url} "
                             f"in line {first_number}; remove one of them")
        pages[page.name] = (number, page)
    if not pages:
        raise InputError(f"{path}:1: no pages; write one URL per line")
    return [page for _, page in pages.values()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}:1: no such file; make it with one URL per line") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: cannot be read ({error}); it must be a text file") from None


def _check_url(page: Page, where: str) -> None:
    try:
        parts = urlsplit(page.url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in page.url):
        raise InputError(f"{where}: not a URL: {page.url!r}; write http://host/path")
    if page.name in (".", "..") or len(page.name) > 240:
        raise InputError(f"{where}: this URL cannot be a file name (over 240 characters); use a shorter one")
