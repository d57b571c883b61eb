"""All that the report says of a folder's table, as text."""

from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.paper import paper_lines
from harness.show.table import footer_lines, table_lines


def format_report(results: Results, selection: Selection) -> str:
    """Return the table, the paper's beside it, and every note."""
    return "".join(f"{line}\n" for line in (*table_lines(results, selection), "", *paper_lines(results, selection),
                                            *map(printable, footer_lines(results, selection))))
