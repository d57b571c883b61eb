"""The figures of pages: which resources they have, where from, of what type and size, and what caused them when.

A page-shape file holds them, and nothing of the pages' content. It is text, its columns separated by tabs, "-" for what
is unknown. A line ``format<TAB>5`` stands before the first page; files without one are of format 1, which has neither
the page's last column nor the resources' last nine; format 2 lacks the last five, formats 3 and 4 the last two, format
3 the line ``http2``, too. Lines that begin with # are comments.

    page        URL, month (``2013-03`` or -), work_ms (see PageShape)
    http2       the page's hosts that spoke HTTP/2 over TLS; no such line where none did, or nobody knows
    resource    index, host, scheme, mime, charset, bytes, path_chars, parent, redirect_to, start_ms, end_ms,
                kind, work_ms, idle_ms, after_load, way, offset, blocking, priority, seen (see Resource)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.analysis.timeline import DATA, DOCUMENT, FONT, IMAGE, MEDIA, SCRIPT, STYLE
from harness.errors import InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.host_names import is_host_name
from harness.system.untrusted import UnreadableFileError, lines_of, read_untrusted

SHAPE_FILE = Path(__file__).resolve().parent / "paper.tsv"
FORMAT = 5
COLUMNS = {1: 11, 2: 15, 3: 18, 4: 18, 5: 20}
KINDS = (DOCUMENT, IMAGE, STYLE, SCRIPT, DATA, FONT, MEDIA)
TAG, INLINE, EVENT, PARSED = "tag", "inline", "event", "parsed"
WAYS = (TAG, INLINE, EVENT, PARSED)
VERY_LOW, MEDIUM = "VeryLow", "Medium"
PRIORITIES = (VERY_LOW, "Low", MEDIUM, "High", "VeryHigh")
"""Chrome's words (CDP, Network.ResourcePriority)."""
UNKNOWN_MONTH = "-"
MOST_BYTES = 2**30
"""Bytes that all pages of a file may have together: they are made in memory."""
LONGEST_PATH = 2**21
"""Characters of a path and query: as many as Chrome allows a URL (url::kMaxURLChars)."""
HEADING = """\
# The shape of pages: figures of their resources, nothing of their content. Made by scripts/shape.py; what the columns
# mean is said in harness/synthetic/shape.py. scripts/make_pages.py --shape makes synthetic pages from it.
"""


@dataclass(frozen=True)
class Resource:
    """One resource of a page. None stands for what was not recorded.

    `path_chars` counts the URL's path and query with the leading slash; `parent` and `redirect_to` are indices of
    resources of the same page; times are in ms, `start_ms` and `end_ms` from the start of the page load. Where the page
    was measured, `kind` is what the resource was asked for as (one of KINDS), and between the arrival of its parent and
    its request the page worked for `work_ms` and waited (for a timer) for `idle_ms`. One that was asked for
    `after_load` did not hold up the load event; its work and waiting begin at that event, if its parent had arrived
    before.

    `way` is how it was found (one of WAYS): in the text of the document `parent`, or by a script that runs as the
    parser comes to it, both `offset` bytes from the document's start; after the arrival of `parent`; or once the
    document `parent` was parsed. A `blocking` script is one that the parser stopped for; what else is `blocking` was
    asked for by a synchronous XMLHttpRequest. `priority` (one of PRIORITIES) is what Chrome gave the request when it
    was asked for; a `seen` image stood within the window, which raises it.
    """

    index: int
    host: str
    scheme: str
    mime: str | None
    charset: str | None
    size_bytes: int | None
    path_chars: int
    parent: int | None
    redirect_to: int | None
    start_ms: int
    end_ms: int
    kind: str | None = None
    work_ms: int = 0
    idle_ms: int = 0
    after_load: bool = False
    way: str | None = None
    offset: int = 0
    blocking: bool = False
    priority: str | None = None
    seen: bool = False


@dataclass(frozen=True)
class PageShape:
    """One page: its URL, the month its figures are from (``2013-03``) and its resources, in order of request.

    The month may be UNKNOWN_MONTH. `work_ms` is how long the page worked between the last arrival that its load event
    waited for and that event; `http2_hosts` are those of its hosts that spoke HTTP/2 over TLS.
    """

    url: str
    month: str
    resources: tuple[Resource, ...]
    work_ms: int = 0
    http2_hosts: frozenset[str] = frozenset()

    @property
    def measured(self) -> bool:
        """Whether the figures are of a load in today's Chrome, which knows what each resource was asked for as."""
        return self.resources[0].kind is not None


def read_shapes(path: Path = SHAPE_FILE) -> list[PageShape]:
    """Read the pages of a shape file.

    Raises InputError (``file:line: problem``) for a line that cannot be right, and for a file without pages.
    """
    try:
        lines = lines_of(read_untrusted(path).decode("ascii"))
    except (UnreadableFileError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: no page-shape file ({error}); scripts/shape.py makes one") from None
    version = 1             # without a line that says it
    pages: list[_PageLines] = []
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        try:
            if fields[0] == "format":
                version = _version(fields)
            else:
                _read_line(fields, pages, version)
        except (ValueError, IndexError, TypeError) as error:
            raise InputError(f"{path}:{number}: not a page or resource ({error}); see harness/synthetic/shape.py") \
                from None
    if not pages or not all(page.resources for page in pages):
        raise InputError(f"{path}:1: a page without resources; make the file again")
    shapes = [PageShape(page.url, page.month, tuple(page.resources), page.work_ms, frozenset(page.http2_hosts))
              for page in pages]
    _check_redirects(path, shapes)
    check_sizes(shapes, str(path))
    return shapes


@dataclass
class _PageLines:
    """What the lines of one page have said so far (see PageShape)."""

    url: str
    month: str
    work_ms: int
    http2_hosts: set[str] = field(default_factory=set)
    resources: list[Resource] = field(default_factory=list)


def _read_line(fields: list[str], pages: list[_PageLines], version: int) -> None:
    """Begin a page, or add a line to the last one. Raises ValueError, IndexError or TypeError for a wrong line."""
    if fields[0] == "page":
        url, month, *rest = fields[1:]
        pages.append(_PageLines(url, _month(month), int(rest[0]) if rest else 0))
    elif fields[0] == "http2":
        pages[-1].http2_hosts.update(map(_host, fields[1:]))
    else:
        pages[-1].resources.append(_resource(fields, pages[-1].resources, version))


def check_sizes(shapes: Sequence[PageShape], source: str) -> None:
    """Raise InputError when the pages of `source` are too large to be made: who wrote it says how large."""
    resources = [resource for shape in shapes for resource in shape.resources]
    largest_bytes = max((resource.size_bytes or 0 for resource in resources), default=0)
    all_bytes = sum(resource.size_bytes or 0 for resource in resources)
    if largest_bytes > LARGEST_BODY or all_bytes > MOST_BYTES:
        raise InputError(f"{source}:1: too large to be made: {all_bytes} bytes, of which one answer has "
                         f"{largest_bytes} (at most {MOST_BYTES} and {LARGEST_BODY}); leave out what is so large")


def _check_redirects(path: Path, shapes: Sequence[PageShape]) -> None:
    """Raise InputError for a redirect to a resource that its page does not have: each stands below what leads to it."""
    for shape in shapes:
        beyond = [resource for resource in shape.resources if (resource.redirect_to or 0) >= len(shape.resources)]
        if beyond:
            raise InputError(f"{path}:1: not a page or resource (redirect to {beyond[0].redirect_to}, of "
                             f"{len(shape.resources)} in {shape.url}); see harness/synthetic/shape.py")


def over_tls(shape: PageShape) -> PageShape:
    """Return the same page with all of its resources over https."""
    secure = tuple(replace(resource, scheme="https") for resource in shape.resources)
    return replace(shape, url="https:" + shape.url.partition(":")[2], resources=secure)


def format_shapes(shapes: Sequence[PageShape]) -> str:
    """Return a page-shape file of these pages, in the newest format."""
    lines = [f"format\t{FORMAT}\n"]
    for shape in shapes:
        lines.append(f"page\t{shape.url}\t{shape.month}\t{shape.work_ms}\n")
        if shape.http2_hosts:
            lines.append("\t".join(("http2", *sorted(shape.http2_hosts))) + "\n")
        lines += ["\t".join("-" if value is None else str(value) for value in (
            resource.index, resource.host, resource.scheme, resource.mime, resource.charset, resource.size_bytes,
            resource.path_chars, resource.parent, resource.redirect_to, resource.start_ms, resource.end_ms,
            resource.kind, resource.work_ms, resource.idle_ms, int(resource.after_load), resource.way,
            resource.offset, int(resource.blocking), resource.priority, int(resource.seen))) + "\n"
            for resource in shape.resources]
    return HEADING + "".join(lines)


def _version(fields: list[str]) -> int:
    version = int(fields[1])
    if version not in COLUMNS:
        raise ValueError(f"format {version}, this program knows those up to {FORMAT}")
    return version


def _month(text: str) -> str:
    if text != UNKNOWN_MONTH and not re.fullmatch("[0-9]{4}-(0[1-9]|1[0-2])", text):
        raise ValueError(f"{text[:80]!r} is not a month, written as 2013-03")
    return text


def _resource(fields: list[str], earlier: list[Resource], version: int) -> Resource:
    """Return a line about a resource. Raises ValueError for one that cannot be right."""
    if len(fields) != COLUMNS[version]:
        raise ValueError(f"{len(fields)} columns instead of {COLUMNS[version]}")
    words = [None if field == "-" else field for field in fields]
    numbers = [None if word is None else int(word) for word in (words[0], *words[5:11])]
    index, size_bytes, path_chars, parent, redirect_to, start_ms, end_ms = numbers
    if index != len(earlier):
        raise ValueError(f"index {index} where {len(earlier)} was expected")
    if (parent is None) != (index == 0) or (parent is not None and not 0 <= parent < index):
        raise ValueError(f"parent {parent} does not stand above")
    if redirect_to is not None and redirect_to <= index:
        raise ValueError(f"redirect to {redirect_to}, which stands above")
    if words[1] is None or words[2] is None or path_chars is None or start_ms is None or end_ms is None:
        raise ValueError("host, scheme, path_chars, start_ms and end_ms are needed")
    if path_chars > LONGEST_PATH:
        raise ValueError(f"a path of {path_chars} characters; a URL has at most {LONGEST_PATH}")
    if path_chars < 1 or words[2] not in ("http", "https") or (size_bytes or 0) < 0:
        raise ValueError("a path has at least its slash, a scheme is http or https, a size is not negative")
    resource = Resource(index, _host(words[1]), words[2], words[3], words[4], size_bytes, path_chars, parent,
                        redirect_to, start_ms, end_ms)
    if version > 1:
        resource = _measured(resource, *fields[11:15])
    if version > 2:
        resource = _found(resource, *fields[15:18])
    return resource if version < 5 else _prioritized(resource, *fields[18:])


def _host(name: str) -> str:
    if not is_host_name(name):
        raise ValueError(f"{name[:80]!r} is not the name of a host")
    return name


def _measured(resource: Resource, kind: str, work_ms: str, idle_ms: str, after_load: str) -> Resource:
    """Add what only measured pages have."""
    if kind not in KINDS or int(work_ms) < 0 or int(idle_ms) < 0 or after_load not in ("0", "1"):
        raise ValueError(f"kind {kind}, work_ms {work_ms}, idle_ms {idle_ms}, after_load {after_load}")
    return replace(resource, kind=kind, work_ms=int(work_ms), idle_ms=int(idle_ms), after_load=after_load == "1")


def _found(resource: Resource, way: str, offset: str, blocking: str) -> Resource:
    """Add what pages have whose requests Chrome explained."""
    if way not in (*WAYS, "-") or int(offset) < 0 or blocking not in ("0", "1"):
        raise ValueError(f"way {way}, offset {offset}, blocking {blocking}")
    return replace(resource, way=None if way == "-" else way, offset=int(offset), blocking=blocking == "1")


def _prioritized(resource: Resource, priority: str, seen: str) -> Resource:
    """Add how soon Chrome wanted it."""
    if priority not in (*PRIORITIES, "-") or seen not in ("0", "1"):
        raise ValueError(f"priority {priority}, seen {seen}")
    return replace(resource, priority=None if priority == "-" else priority, seen=seen == "1")
