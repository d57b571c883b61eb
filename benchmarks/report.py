"""The plain table that every benchmark prints under its line about the machine."""

from collections.abc import Sequence

GAP = "  "


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells under their header: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        first, *others = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print(GAP.join([first.strip().ljust(widths[0]), *others]).rstrip())
