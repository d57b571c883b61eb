"""All that was seen of one load, as it was seen: harness.measure.record makes the load's record of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.files.har import LoadLog
from harness.files.load_parts import Counters
from harness.files.load_record import LoadRecord
from harness.files.server_log import ServerRequest
from harness.measure.laboratory import Laboratory
from harness.measure.plan import Load
from harness.network.arrivals import Arrivals
from harness.system.ticker import Ticks


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One load over the network of `lab`, which is asked for what holds for all loads, and not touched any more.

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
