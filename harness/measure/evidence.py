"""All that was seen of one load, as it was seen: harness.measure.record makes the load's record of it, and judges none.

Of the laboratory, which goes on with other loads, only what does not change is asked later, and the delay line's notes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.files.har import LoadLog
from harness.files.load_parts import Counters
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.files.server_log import ServerRequest
from harness.files.transport import Transport
from harness.measure.coverage import RecordedPage
from harness.measure.laboratory import Laboratory
from harness.network.arrivals import Arrivals
from harness.system.ticker import Ticks


@dataclass(frozen=True)
class Load:
    """One page load: `run` 0 is the warm-up, `transport` a harness.files.transport.Transport: 0, 1 for TFO off, on."""

    page: Page
    run: int
    transport: int

    @property
    def over(self) -> Transport:
        """How its connections begin."""
        return Transport(self.transport)

    @property
    def tfo(self) -> int:
        """Whether TFO is on (1) or off (0)."""
        return self.over.tfo


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One load in the laboratory `lab`.

    `report` is what load_page.py says (with whatever a page wrote that had taken Chrome over), `har` what the load's
    HAR says, None without one, `requests` what the servers logged. `grown` is by how much Laboratory.counts grew over
    the load. `began_s`: in s since the epoch. `warm_up` is the record of the page's run 0, in which Chrome says who
    asked for what; None in that run.
    """

    lab: Laboratory
    load: Load
    report: Mapping[str, Any]
    har: LoadLog | None
    requests: Sequence[ServerRequest]
    grown: Counters
    began_s: float
    environment: Mapping[str, Any]
    ticks: Ticks
    arrivals: Arrivals
    warm_up: LoadRecord | None = None

    @property
    def recorded(self) -> RecordedPage:
        """What the recording holds for the page."""
        return self.lab.recorded[self.load.page]
