"""The figures of pages: which resources they have, where from, of what type and size, and what caused them when.

A page-shape file holds them, and nothing of the pages' content. It is text, its columns separated by tabs, "-" for what
is unknown. A line ``format<TAB>5`` stands before the first page. Lines that begin with # are comments.

    page        URL, month (``2013-03``), work_ms (see PageShape)
    http2       the page's hosts that spoke HTTP/2 over TLS; no such line where none did, or nobody knows
    resource    index, host, scheme, mime, charset, bytes, path_chars, parent, redirect_to, start_ms, end_ms,
                kind, work_ms, idle_ms, after_load, way, offset, blocking, priority, seen (see Resource)
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from harness.analysis.asked_for import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, STYLE
from harness.errors import InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.hosts import is_host_name
from harness.system.untrusted import UnreadableFileError, lines_of, read_untrusted

SHAPE_FILE = Path(__file__).resolve().parent / "paper.tsv"
FORMAT = 5
KINDS = (DOCUMENT, IMAGE, STYLE, SCRIPT, DATA, FONT, MEDIA)
TAG, INLINE, EVENT, PARSED = WAYS = ("tag", "inline", "event", "parsed")
VERY_LOW, MEDIUM = "VeryLow", "Medium"
PRIORITIES = (VERY_LOW, "Low", MEDIUM, "High", "VeryHigh")
"""Chrome's words (CDP, Network.ResourcePriority)."""
MOST_BYTES = 2**30
"""Bytes that all pages of a file may have together: they are made in memory."""
LONGEST_PATH = 2**21
"""Characters of a path and query: as many as Chrome allows a URL (url::kMaxURLChars)."""


def _one_of(*patterns: str) -> msgspec.Meta:
    return msgspec.Meta(pattern=f"^({'|'.join(patterns)})$")


Count = Annotated[int, msgspec.Meta(ge=0)]
Month = Annotated[str, _one_of("[0-9]{4}-(0[1-9]|1[0-2])")]
HEADING = """\
# The shape of pages: figures of their resources, nothing of their content. Made by scripts/shape.py; what the columns
# mean is said in harness/synthetic/shape.py. scripts/make_pages.py --shape makes synthetic pages from it.
"""


@dataclass(frozen=True)
class Resource:
    """One resource of a page. None stands for what was not recorded.

    `path_chars` counts the URL's path and query with the leading slash; `parent` and `redirect_to` are indices of
    resources of the same page; times are in ms, `start_ms` and `end_ms` from the start of the page load. `kind` is what
    the resource was asked for as (one of KINDS). Between the arrival of its parent and its request the page worked for
    `work_ms` and waited (for a timer) for `idle_ms`. One that was asked for `after_load` did not hold up the load
    event; its work and waiting begin at that event, if its parent had arrived before.

    `way` is how it was found (one of WAYS): in the text of the document `parent`, or by a script that runs as the
    parser comes to it, both `offset` bytes from the document's start; after the arrival of `parent`; or once the
    document `parent` was parsed. A `blocking` script is one that the parser stopped for; what else is `blocking` was
    asked for by a synchronous XMLHttpRequest. `priority` (one of PRIORITIES) is what Chrome gave the request when it
    was asked for; a `seen` image stood within the window, which raises it.
    """

    index: Count
    host: str
    scheme: Annotated[str, _one_of("http", "https")]
    mime: str | None
    charset: str | None
    size_bytes: Count
    path_chars: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_PATH)]
    parent: Count | None
    redirect_to: Count | None
    start_ms: Count
    end_ms: Count
    kind: Annotated[str, _one_of(*KINDS)]
    work_ms: Count = 0
    idle_ms: Count = 0
    after_load: bool = False
    way: Annotated[str, _one_of(*WAYS)] = EVENT
    offset: Count = 0
    blocking: bool = False
    priority: Annotated[str, _one_of(*PRIORITIES)] | None = None
    seen: bool = False


COLUMNS = tuple(column.name for column in fields(Resource))


@dataclass(frozen=True)
class PageShape:
    """One page: its URL, the month its figures are from (``2013-03``) and its resources, in order of request.

    `work_ms` is how long the page worked between the last arrival that its load event
    waited for and that event; `http2_hosts` are those of its hosts that spoke HTTP/2 over TLS.
    """

    url: str
    month: Month
    resources: list[Resource]
    work_ms: Count = 0
    http2_hosts: frozenset[str] = frozenset()


WRONG = (ValueError, IndexError, msgspec.ValidationError)


def read_shapes(path: Path = SHAPE_FILE) -> list[PageShape]:
    """Read the pages of a shape file.

    Raises InputError (``file:line: problem``) for a line that cannot be right, and for a file without pages.
    """
    try:
        lines = lines_of(read_untrusted(path).decode("ascii"))
    except (UnreadableFileError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: no page-shape file ({error}); scripts/shape.py makes one") from None
    told = [(number, line.split("\t")) for number, line in enumerate(lines, start=1) if line and line[0] != "#"]
    if told and told[0][1] != ["format", str(FORMAT)]:
        raise InputError(f"{path}:1: {lines[told[0][0] - 1][:80]!r} where its format should stand, {FORMAT}; "
                         f"scripts/shape.py makes one of format {FORMAT}")
    shapes: list[PageShape] = []
    number = 1
    try:
        for number, columns in told[1:]:        # noqa: B007 (the line that is wrong)
            _read_line(columns, shapes)
    except WRONG as error:
        raise InputError(f"{path}:{number}: not a page or resource ({error}); see harness/synthetic/shape.py") from None
    if not shapes or not all(shape.resources for shape in shapes):
        raise InputError(f"{path}:1: a page without resources; make the file again")
    for shape in shapes:
        count = len(shape.resources)        # what follows a redirect stands below what leads to it
        for beyond in (target for resource in shape.resources if (target := resource.redirect_to or 0) >= count):
            raise InputError(f"{path}:1: not a page or resource (redirect to {beyond}, of {count} in {shape.url}); see "
                             "harness/synthetic/shape.py")
    sizes = [resource.size_bytes for shape in shapes for resource in shape.resources]
    if max(sizes) > LARGEST_BODY or sum(sizes) > MOST_BYTES:
        raise InputError(f"{path}:1: too large to be made: {sum(sizes)} bytes, of which one answer has {max(sizes)} "
                         f"(at most {MOST_BYTES} and {LARGEST_BODY}); leave out what is so large")
    return shapes


def _read_line(columns: list[str], shapes: list[PageShape]) -> None:
    """Begin a page, or add a line to the last one. Raises WRONG for a wrong line."""
    if columns[0] == "page":
        words = dict(zip(("url", "month", "work_ms"), columns[1:], strict=True))
        shapes.append(msgspec.convert({**words, "resources": []}, PageShape, strict=False))
        return
    page = shapes[-1]
    if columns[0] != "http2":
        page.resources.append(_resource(columns, page.resources))
        return
    if not all(map(is_host_name, columns[1:])):
        raise ValueError("not the names of hosts")
    shapes[-1] = replace(page, http2_hosts=page.http2_hosts.union(columns[1:]))


def path_of(url: str) -> str:
    """Return path and query of a URL, ``/`` when it has none."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def over_tls(shape: PageShape) -> PageShape:
    """Return the same page with all of its resources over https."""
    return replace(shape, url="https:" + shape.url.partition(":")[2],
                   resources=[replace(resource, scheme="https") for resource in shape.resources])


def format_shapes(shapes: Sequence[PageShape]) -> str:
    """Return a page-shape file of these pages, in the newest format."""
    lines = [f"format\t{FORMAT}\n"]
    for shape in shapes:
        lines.append(f"page\t{shape.url}\t{shape.month}\t{shape.work_ms}\n")
        if shape.http2_hosts:
            lines.append("\t".join(("http2", *sorted(shape.http2_hosts))) + "\n")
        lines += ["\t".join(_word(getattr(resource, name)) for name in COLUMNS) + "\n" for resource in shape.resources]
    return HEADING + "".join(lines)


def _resource(columns: list[str], earlier: list[Resource]) -> Resource:
    """Return a line about a resource. Raises WRONG for one that cannot be right."""
    words = {name: None if word == "-" else word for name, word in zip(COLUMNS, columns, strict=True)}
    resource = msgspec.convert(words, Resource, strict=False)
    if not is_host_name(resource.host):
        raise ValueError(f"{resource.host[:80]!r} is not the name of a host")
    if resource.index != len(earlier):
        raise ValueError(f"index {resource.index} where {len(earlier)} was expected")
    if (resource.parent is None) != (resource.index == 0) or (resource.parent or 0) >= max(1, resource.index):
        raise ValueError(f"parent {resource.parent} does not stand above")
    if resource.redirect_to is not None and resource.redirect_to <= resource.index:
        raise ValueError(f"redirect to {resource.redirect_to}, which stands above")
    return resource


def _word(value: object) -> str:
    return "-" if value is None else str(int(value) if isinstance(value, bool) else value)
