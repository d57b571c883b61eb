"""What a student hands in: ``GTLOGIN_p3.zip`` with observations.txt and myURLS.pages, checked before it is made."""

import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.course.page_rules import rule_breaches
from harness.errors import InputError, printable, run_main
from harness.files.notes import text_of
from harness.files.pages import Page, read_pages
from harness.show.columns import MARK
from harness.show.console import HEADER
from harness.show.labels import NOT_KNOWN
from harness.system.atomic import written_beside
from harness.system.options import OptionParser
from harness.system.privileges import leave_root
from harness.system.untrusted import UnreadableFileError, lines_of, read_untrusted

OBSERVATIONS, URLS = "observations.txt", "myURLS.pages"
MEASURE = f"sudo ./run.sh --name {Path(URLS).stem} and then ./plot.py --append {OBSERVATIONS}"
ROW = re.compile(rf"(recorded )?[\d.]+(-\d+)?\s+(?P<off>[\d.]+|{NOT_KNOWN})\s+(?P<on>[\d.]+|{NOT_KNOWN})"
                 rf"\s+(-?[\d.]+%|{NOT_KNOWN})\{MARK}?")
"""A row below a page's name: RTT (with --rtt recorded "recorded 12-180"), PLT without and with TFO, improvement.
Editors may have made spaces of the tabs."""
MARKDOWN = re.compile(r"^[\s>]*([-*+]\s+|`+)?|\s*`*\s*$")
"""What Markdown writes around a line: a code block's indent, a quotation's or an item's mark, backticks. A table of its
own has bars between its cells."""


@dataclass(frozen=True)
class Row:
    """One row of a table in the observations: the page's name, the line it is in, whether it has both load times."""

    page: str
    line: int
    measured: bool


def main() -> int:
    """Check, and make the zip when all is well; exit status 2 when something is wrong."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("directory", type=Path, help=f"where {OBSERVATIONS} and {URLS} are, and the zip goes")
    parser.add_argument("login", help="begins the zip's name")
    parser.add_argument("--force", action="store_true", help="replace a zip that is there")
    options = parser.parse_args()
    leave_root()
    path: Path = options.directory / f"{options.login}_p3.zip"
    problems = check_files(options.directory)
    if path.exists() and not options.force:
        problems.append(f"{path}: is there already; move it away, or type --force to replace it")
    for problem in problems:
        print(printable(problem), file=sys.stderr)
    if problems:
        return 2
    try:
        pack(options.directory, path)
    except PermissionError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); give another --dir") from None
    pages = len(read_pages(options.directory / URLS))
    print(f"{path}: {OBSERVATIONS} and {URLS} ({pages} pages), checked and ready to hand in")
    return 0


def check_files(directory: Path) -> list[str]:
    """Return everything that is wrong with the two files, one line each: ``file:line: problem; what to do``."""
    urls = directory / URLS
    if not urls.is_file():
        return [f"{urls}:1: no such file; write your URLs into it, one per line"]
    breaches = rule_breaches(urls)
    if breaches:
        return breaches     # what must be in the observations is only known when these are mended
    return check_observations(directory / OBSERVATIONS, read_pages(urls))


def check_observations(path: Path, pages: list[Page]) -> list[str]:
    """Return what is wrong with the observations: they must hold a measured row of every page."""
    try:
        text = text_of(read_untrusted(path))
    except UnreadableFileError as error:
        return [f"{error}; make it with {MEASURE}"]
    lines = [bare_line(line) for line in lines_of(text)]
    if not text.strip():
        return [f"{path}:1: is empty; run {MEASURE}, and write down what you observe"]
    if not any(_is_header(line) for line in lines):
        return [f"{path}:{len(lines)}: holds no table; run {MEASURE}"]
    rows = list(_rows(lines))
    problems = []
    for page in pages:
        of_page = [row for row in rows if row.page == bare_line(page.name)]
        if not of_page:
            problems.append(f"{path}:{len(lines)}: no table has rows of {page.url} ({page.name}); run {MEASURE}")
        elif not any(row.measured for row in of_page):
            problems.append(f"{path}:{of_page[-1].line}: {page.url} was not measured without and with TFO "
                            f"('{NOT_KNOWN}'); run {MEASURE}")
    return problems


def pack(directory: Path, path: Path) -> None:
    """Write the zip; it appears under its name only when it is whole."""
    with written_beside(path) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (OBSERVATIONS, URLS):
            archive.writestr(name, read_untrusted(directory / name))


def _rows(lines: list[str]) -> Iterator[Row]:
    """Give the rows of all tables: below their page's name, anywhere after a header. `lines` are bare ones."""
    in_table, page = False, ""
    for number, line in enumerate(lines, start=1):
        row = ROW.fullmatch(line)
        if _is_header(line):
            in_table, page = True, ""
        elif in_table and row:
            yield Row(page, number, NOT_KNOWN not in (row["off"], row["on"]))
        elif line:
            page = line


def bare_line(line: str) -> str:
    """Return a line without what Markdown writes around it, and its cells without the bars between them."""
    return MARKDOWN.sub("", line.replace("|", " ")).strip()


def _is_header(line: str) -> bool:
    return line.split() == HEADER.split()


if __name__ == "__main__":
    run_main(main)
