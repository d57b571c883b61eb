"""A part of the report that has a chart: its words, what is drawn, and the same in a table."""

from dataclasses import dataclass, field
from typing import Any

from harness.report.tables import Table


@dataclass(frozen=True)
class Section:
    """`words` stand in front of the chart, `figure` is what report.js draws (None: nothing), `label` says the chart in
    a sentence or two, `table` has the same numbers, `more` what goes further.
    """

    words: list[str]
    figure: dict[str, Any] | None = None
    label: str = ""
    table: Table | None = None
    more: list[Table] = field(default_factory=list)
