"""All that was seen of one load, as it was seen: harness.measure.record makes the load's record of it, and judges none.

There are plain values in it, and the notes of the delay line: what else a running laboratory knows was asked of it
before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.files.har import LoadLog
from harness.files.hosts import Layout
from harness.files.load_parts import Counters, NetworkKind
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.files.server_log import ServerRequest
from harness.files.transport import Box, Transport
from harness.measure.coverage import RecordedPage
from harness.measure.settings import Settings
from harness.network.arrivals import Arrivals
from harness.network.star import LinkSpeeds
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
class Conditions:
    """What holds for all loads of an experiment at one RTT.

    `servers` are the servers by their addresses; `hosts` the hosts that each answers for. `measured_rtt_ms` is the RTT
    to each server, `held_ms` for how long the delay line holds what an address sent (harness.network.links). `box` is
    what stands before the servers in `behind_box`.
    """

    experiment: str
    network: NetworkKind
    settings: Settings
    speeds: LinkSpeeds
    layout: Layout
    hosts: Mapping[str, Sequence[str]]
    servers: Mapping[str, str]
    measured_rtt_ms: Mapping[str, float]
    held_ms: Mapping[str, float]
    box: Box | None = None
    behind_box: Sequence[str] = ()

    @property
    def queues_at_home(self) -> bool:
        """Whether packets of the servers, each as fast as its link is, may have to queue before user's link."""
        return self.network == "star" and self.speeds.home_fills_up(len(self.servers))


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One load, and what its page's recording holds.

    `report` is what load_page.py says (with whatever a page wrote that had taken Chrome over), `har` what the load's
    HAR says, None without one, `requests` what the servers logged. `grown` is by how much Laboratory.counts grew over
    the load. `latest_packet_ms` says how late the delay line let a packet go at most between two moments, None without
    one. Moments are in s since the epoch, as `began_s` is. `warm_up` is the record of the page's run 0, in which Chrome
    says who asked for what; None in that run.
    """

    conditions: Conditions
    load: Load
    recorded: RecordedPage
    report: Mapping[str, Any]
    har: LoadLog | None
    requests: Sequence[ServerRequest]
    grown: Counters
    began_s: float
    environment: Mapping[str, Any]
    ticks: Ticks
    arrivals: Arrivals
    latest_packet_ms: Callable[[float, float], float | None]
    warm_up: LoadRecord | None = None
