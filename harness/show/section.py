"""A section of the report, and the tables and charts in it. report.html.j2 writes any of them; `as_text` the console's.

    Section("Answers", ["What the columns mean."], [table, chart, Section(...)])
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from harness.errors import printable
from harness.show.figures import inline_svg

NUMBER = re.compile(r"[-+<]?[\d.,]*%?\*?( to [-\d.]+%?)?")
"""A cell of a column of numbers, such as "-", "-1.88%", "2 to 5"."""


@dataclass(frozen=True)
class Table:
    """`groups` are pairs of a heading over rows (None for rows without) and the rows, one text for each of the titles.

    A table with a `fold` is closed until one opens it: that is what it is then called. `style` is a class in
    report.css.
    """

    caption: str
    titles: Sequence[str]
    groups: Sequence[tuple[str | None, Sequence[Sequence[str]]]] = ()
    fold: str = ""
    style: str = ""

    @property
    def empty(self) -> bool:
        """Whether it has no row at all."""
        return not any(rows for _, rows in self.groups)

    @property
    def of_words(self) -> list[bool]:
        """Of each column whether it holds words, on the left side, as the first one does, or numbers, on the right."""
        rows = [row for _, rows in self.groups for row in rows]
        return [not place or not all(NUMBER.fullmatch(row[place]) for row in rows)
                for place, _ in enumerate(self.titles)]


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


def plain_table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], style: str = "") -> Table:
    """Return a table whose rows are in no groups."""
    return Table(caption, titles, [(None, rows)], style=style)


def chart_of(figure: Figure, key: str, label: str, table: Table) -> Chart:
    """Return a figure as it stands in the report. `key` begins all names in it, `label` is read to who sees it not."""
    return Chart(Markup(inline_svg(figure, key, label)), table)


def table_lines(table: Table) -> Iterator[str]:
    """Give a table tab-separated: its titles behind "Page", then each group's rows under its name."""
    yield "\t".join(["Page", *table.titles])
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
