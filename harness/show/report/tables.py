"""Tables of the report, whatever they hold, and the sections they stand in.

The template turns each table into HTML with a caption and headed rows.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markupsafe import Markup

from harness.analysis.row import Row
from harness.show.cells import Columns, cells
from harness.show.labels import NOT_KNOWN

UNKNOWN = "\N{EN DASH}"
"""Stands in a cell for what is not known; the console table's "-" in type."""


@dataclass(frozen=True)
class Column:
    """A column; `numeric` ones are aligned to the right. The cells of a table's first column are row headings."""

    title: str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """`groups` are pairs of a heading over rows (None for rows without) and the rows, one text for each column."""

    caption: str
    columns: tuple[Column, ...]
    groups: list[tuple[str | None, list[Sequence[str]]]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether it has no row at all."""
        return not any(rows for _, rows in self.groups)


@dataclass(frozen=True)
class Section:
    """A section: `words`, then a chart, then tables.

    `figure` is an ``svg`` element ("" for none), `table` has the same numbers: report.js shows the row of what is
    pointed at. `more` are further tables.
    """

    words: list[str]
    figure: Markup | str = ""
    table: Table | None = None
    more: list[Table] = field(default_factory=list)


def columns(first: str, *numeric: str, words: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return columns: `first` of words, then numbers, then the `words` at the end."""
    return Column(first, numeric=False), *map(Column, numeric), *(Column(title, numeric=False) for title in words)


def table_of(caption: str, rows: Sequence[Row], cells_of: Columns) -> Table:
    """Return a table with the texts of the console's: each page's rows under its URL."""
    return Table(caption, columns(*cells_of), [
        (url, [[UNKNOWN if cell == NOT_KNOWN else cell for cell in cells(row, cells_of)] for row in of_page])
        for (_, url), of_page in groupby(rows, key=lambda row: (row.page, row.url))])


def plain_table(caption: str, heads: tuple[Column, ...], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table whose rows are in no groups."""
    return Table(caption, heads, [(None, list(rows))])


def number(value: float | None, form: str = "{:,.0f}") -> str:
    """Return `value` as `form` writes it, UNKNOWN for None."""
    return UNKNOWN if value is None else form.format(value)


def known(value: object, form: Callable[[object], str] = str) -> str:
    """Return any value in words, UNKNOWN for None and ""."""
    return UNKNOWN if value is None or value == "" else form(value)
