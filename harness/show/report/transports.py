"""TCP, TFO, early data and QUIC side by side, as a chart and as a table."""

from collections.abc import Sequence

from markupsafe import Markup

from harness.analysis.selection import Selection
from harness.files.results import Results
from harness.show.inline_svg import inline_svg
from harness.show.labels import NOT_KNOWN
from harness.show.report.tables import UNKNOWN, Column, Section, Table
from harness.show.transports import COLUMNS, draw_transports, transport_notes, transport_rows


def transports_section(results: Results, selection: Selection) -> Section:
    """Return the section that compares how connections begin."""
    heads = tuple(Column(title, numeric=title not in ("Transport", "95% interval", "Early data")) for title in COLUMNS)
    groups: list[tuple[str | None, list[Sequence[str]]]] = [
        (results.urls[page], [[UNKNOWN if cell == NOT_KNOWN else cell for cell in row] for row in rows])
        for page, rows in transport_rows(results, selection)]
    label = "Page load time in seconds against RTT in ms, a line for each way in which connections begin."
    return Section([*transport_notes(results, selection)],
                   Markup(inline_svg(draw_transports(results, selection), "transports", label)),
                   Table("Page load time (PLT) by how connections begin", heads, groups))
