"""The course's rules for ``myURLS.pages``: three to five distinct http or https URLs of different sites.

A site is a registrable domain: the public suffix of the name (https://publicsuffix.org) and one label more, so that
www.example.co.uk and shop.example.co.uk are one site, and two users' github.io pages are two. The list is the one that
comes with the package publicsuffixlist; nothing is asked over the network.
"""

from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import InputError, many
from harness.files.hosts import PORTS, registrable_domain
from harness.files.pages import page_of, read_pages
from harness.system.untrusted import UnreadableFileError, read_untrusted_lines

FEWEST, MOST = 3, 5


def rule_breaches(path: Path) -> list[str]:
    """Return every breach of the rules in the file, one line each: ``file:line: problem; what to do``.

    Raises InputError when the file cannot be read.
    """
    try:
        lines = read_untrusted_lines(path)
    except UnreadableFileError as error:
        raise InputError(f"{error}; write one URL per line") from None
    breaches: list[str] = []
    sites: dict[str, int] = {}
    urls = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, url in urls:
        if problem := _problem(url, number, sites):
            breaches.append(f"{path}:{number}: {problem}")
    if len(urls) < FEWEST:
        breaches.append(f"{path}:{max(1, len(lines))}: {many(len(urls), 'page')}; give at least {FEWEST}")
    elif len(urls) > MOST:
        breaches.append(f"{path}:{len(lines)}: {len(urls)} pages; give at most {MOST}")
    return breaches or _names_clash(path)


def _problem(text: str, number: int, sites: dict[str, int]) -> str:
    """Return what is wrong with a line's URL, "" for nothing, and note its site."""
    try:
        url = page_of(text).url
    except ValueError as error:
        return str(error)
    parts = urlsplit(url)
    if parts.port not in (None, *PORTS.values()):
        return f"{url} has a port of its own; give a page at the usual one"
    site = registrable_domain(parts.hostname or "")
    if site is None:
        return f"{parts.hostname} is not a site's name on the Internet; give a public page"
    if site in sites:
        return f"{url} belongs to {site}, as line {sites[site]} does; give a page of another site"
    sites[site] = number
    return ""


def _names_clash(path: Path) -> list[str]:
    """Return what read_pages, which the experiment goes by, has against a file that keeps the course's rules."""
    try:
        read_pages(path)
    except InputError as error:
        return [str(error)]
    return []
