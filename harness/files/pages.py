"""The list of pages an experiment loads (``NAME.pages``) and the names they go by in files.

The one owner of these names, and of what a run's results are called in its folder (--dir).
"""

import contextlib
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError
from harness.files.hosts import is_host_name
from harness.files.urls import as_browsers_ask
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

CLIENT = "client"
"""Folder: the text log, HAR and record of each load (harness.files.results)."""
SERVER_LOGS = "serverlogs"
"""Folder: what each server saw (harness.files.server_log)."""
FIGURES = "output-figures"
"""Folder: figures and report."""
HACK_DNS = "hack_dns"
"""File: which address stands for which site (harness.files.hosts)."""
RUN_OPTIONS = "run.options"
"""File in CLIENT: the options that run.sh was given, a word a line, for its --resume."""
RUN_LOG = "run.log"
"""File in CLIENT: what was printed."""
KEPT_LOGS = (".chromedriver.log", ".load_page.log")
"""Endings of what those programs said during a load that failed."""
BESIDE = (".json", ".har", ".pcap", *KEPT_LOGS)
"""Endings of the files that stand beside a page's log."""

SITE = re.compile(r"https?://[^/?#\\]", re.IGNORECASE)
"""How a page's URL begins. Browsers also read "http:a.test", which nobody means."""
KEPT_CHARACTERS = frozenset("-_.() " + string.ascii_letters + string.digits)
LONGEST_NAME = 240
"""Characters of a page's file name, to which endings are added."""

BUNDLED = "Paper"
"""The list that comes with the project, whose pages it makes by itself."""
LARGEST_LIST = 2**20
"""Bytes of a .pages file: ten thousand URLs."""


@dataclass(frozen=True)
class Page:
    """One page of the experiment: its URL, as browsers ask for it, the file name its logs go by, and which line of the
    list it is in, counted from 1.
    """

    url: str
    name: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class PageFiles:
    """What ``--name NAME`` stands for in directory `base`: a list of pages and their recording."""

    base: Path
    name: str

    @property
    def pages(self) -> Path:
        """The list of pages."""
        return self.base / f"{self.name}.pages"

    @property
    def mirror(self) -> Path:
        """The recorded bodies."""
        return self.base / self.name

    @property
    def fetchlog(self) -> Path:
        """The recorded heads."""
        return self.base / f"{self.name}.fetchlog"

    @property
    def rtts(self) -> Path:
        """Round-trip times to the recorded servers, where somebody wrote them down: see harness.mirror.servers."""
        return self.base / f"{self.name}.rtts"


def sanitise(url: str) -> str:
    """Return `url` as a file name: only ``-_.() ``, ASCII letters and digits are kept."""
    return "".join(character for character in url if character in KEPT_CHARACTERS)


def page_of(text: str, line: int = 0) -> Page:
    """Return the page that a line of a list names. Raises ValueError for what is no http or https URL.

    Its URL is as browsers ask for it (https://url.spec.whatwg.org), hosts in ASCII (IDNA), the rest encoded; one
    without a path stays so, as everywhere in this program. Its files are named after that URL, however the line spells
    it (HTTP://WWW.A.TEST:80/).
    """
    url = as_browsers_ask(text) if SITE.match(text) and not any(map(str.isspace, text)) else ""
    parts = urlsplit(url)
    if not is_host_name(parts.hostname or "") or parts.port == 0:
        raise ValueError(f"not a URL: {text[:120]!r}; write http://host/path")
    if not any(mark in text.partition("//")[2] for mark in "/?#\\"):
        url = url.removesuffix("/")
    name = sanitise(url)
    if len(name) > LONGEST_NAME or name.endswith(BESIDE):
        raise ValueError(f"this URL cannot be a file name (over {LONGEST_NAME} characters, or one that ends with "
                         f"{', '.join(BESIDE)}); add a query such as ?x=1, or take it out")
    return Page(url, name, line)


def read_pages(path: Path) -> list[Page]:
    """Read a ``.pages`` file: one URL per line, blank lines ignored.

    Raises InputError (``file:line: problem``) when the file is missing, unreadable or empty, when a line is not
    an http or https URL that can be a file's name, or when two lines give the same file name.
    """
    try:
        lines = read_untrusted_lines(path, limit=LARGEST_LIST)
    except UnreadableFileError as error:
        raise InputError(f"{error}; make it a text file with one URL per line") from None
    pages: dict[str, Page] = {}
    for number, url in enumerate(map(str.strip, lines), start=1):
        if not url:
            continue
        try:
            page = page_of(url, number)
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        first = pages.setdefault(page.name, page)
        if first is not page:
            raise InputError(f"{path}:{number}: {url} has the same file name ({page.name}) as {first.url} "
                             f"in line {first.line}; remove one of them")
    if not pages:
        raise InputError(f"{path}:1: no pages; write one URL per line")
    return [*pages.values()]


def listable(urls: Iterable[str]) -> list[str]:
    """Return those URLs that a list can hold together: they can be files' names, and no two of them are alike."""
    by_name: dict[str, str] = {}
    for url in urls:
        with contextlib.suppress(ValueError):
            by_name.setdefault(page_of(url).name, url)
    return [*by_name.values()]
