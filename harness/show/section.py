"""A section of the report, and the tables and charts in it. report.html.j2 writes any of them; `as_text` the console's.

    Section("Answers", ["What the columns mean."], [table, chart, Section(...)])
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from harness.errors import printable
from harness.show.figures import inline_svg


@dataclass(frozen=True)
class Column:
    """The head of a column; `numeric` ones are aligned to the right. A table's first column has its rows' headings."""

    title: str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """`groups` are pairs of a heading over rows (None for rows without) and the rows, one text for each column.

    A table with a `fold` is closed until one opens it: that is what it is then called. `style` is a class in
    report.css.
    """

    caption: str
    columns: tuple[Column, ...]
    groups: Sequence[tuple[str | None, Sequence[Sequence[str]]]] = ()
    fold: str = ""
    style: str = ""

    @property
    def empty(self) -> bool:
        """Whether it has no row at all."""
        return not any(rows for _, rows in self.groups)


@dataclass(frozen=True)
class Chart:
    """A figure as an ``svg`` element, and the table with the same numbers, whose rows report.js shows."""

    svg: Markup
    table: Table


@dataclass(frozen=True)
class Section:
    """A section: `words`, each a paragraph, then tables, charts, and sections within. `view`: it opens and closes."""

    title: str
    words: Sequence[str] = ()
    parts: Sequence["Table | Chart | Section"] = ()
    view: bool = False


def columns(first: str, *numeric: str, words: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return the heads of columns: `first` of words, then numbers, then the `words` at the end."""
    return Column(first, numeric=False), *map(Column, numeric), *(Column(title, numeric=False) for title in words)


def plain_table(caption: str, head: tuple[Column, ...], rows: Sequence[Sequence[str]], style: str = "") -> Table:
    """Return a table whose rows are in no groups."""
    return Table(caption, head, [(None, rows)], style=style)


def chart_of(figure: Figure, key: str, label: str, table: Table) -> Chart:
    """Return a figure as it stands in the report. `key` begins all names in it, `label` is read to who sees it not."""
    return Chart(Markup(inline_svg(figure, key, label)), table)


def table_lines(table: Table) -> Iterator[str]:
    """Give a table tab-separated: its titles behind "Page", then each group's rows under its name."""
    yield "\t".join(["Page", *(head.title for head in table.columns)])
    for heading, rows in table.groups:
        if heading is not None:
            yield printable(heading)
        yield from ("\t" + "\t".join(map(printable, row)) for row in rows)


def section_lines(section: Section) -> Iterator[str]:
    """Give a section's first table, and what its columns mean."""
    tables = [part.table if isinstance(part, Chart) else part for part in section.parts
              if not isinstance(part, Section)]
    if tables:
        yield from table_lines(tables[0])
        yield ""
    yield from map(printable, section.words)
