"""The figures of the pages: which resources they have, where from, of what type and size, and what caused them."""

from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError

SHAPE_FILE = Path(__file__).resolve().parent / "paper-2013.tsv"
COLUMNS = 11


@dataclass(frozen=True)
class Resource:
    """One resource of a page in 2013. None stands for what was not recorded.

    `path_chars` counts the URL's path and query with the leading slash; `parent` and `redirect_to` are indices of
    resources of the same page; times are in ms from the start of the page load.
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


@dataclass(frozen=True)
class PageShape:
    """One page: its URL, the month its figures are from (``2013-03``) and its resources, in order of request."""

    url: str
    month: str
    resources: tuple[Resource, ...]


def read_shapes(path: Path = SHAPE_FILE) -> list[PageShape]:
    """Read the pages of a shape file; its columns are described at its top.

    Raises InputError (``file:line: problem``) for a line that cannot be right, and for a file without pages.
    """
    pages: list[tuple[str, str, list[Resource]]] = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        fields = line.split("\t")
        if not line or line.startswith("#"):
            continue
        try:
            if fields[0] == "page":
                _, url, month = fields
                pages.append((url, month, []))
            else:
                pages[-1][2].append(_resource(fields, pages[-1][2]))
        except (ValueError, IndexError) as error:
            raise InputError(f"{path}:{number}: not a page or resource ({error}); see the columns at the top") from None
    if not pages or not all(resources for _, _, resources in pages):
        raise InputError(f"{path}:1: a page without resources; restore the file with git checkout")
    return [PageShape(url, month, tuple(resources)) for url, month, resources in pages]


def _resource(fields: list[str], earlier: list[Resource]) -> Resource:
    if len(fields) != COLUMNS:
        raise ValueError(f"{len(fields)} columns instead of {COLUMNS}")
    words = [None if field == "-" else field for field in fields]
    numbers = [None if word is None else int(word) for word in (words[0], *words[5:])]
    index, size_bytes, path_chars, parent, redirect_to, start_ms, end_ms = numbers
    if index != len(earlier):
        raise ValueError(f"index {index} where {len(earlier)} was expected")
    if (parent is None) != (index == 0) or (parent is not None and not 0 <= parent < index):
        raise ValueError(f"parent {parent} does not stand above")
    if redirect_to is not None and redirect_to <= index:
        raise ValueError(f"redirect to {redirect_to}, which stands above")
    if words[1] is None or words[2] is None or path_chars is None or start_ms is None or end_ms is None:
        raise ValueError("host, scheme, path_chars, start_ms and end_ms are needed")
    return Resource(index, words[1], words[2], words[3], words[4], size_bytes, path_chars, parent, redirect_to,
                    start_ms, end_ms)
