"""The laboratory without a network: servers on loopback that hold their answers back, and Chrome beside them.

In it fetch.py finds out with what it has recorded, and tfo.py --dry-run before an experiment, whether pages are fit to
be measured: each is loaded without any delay. One good load is enough. If none is, none of an experiment would be: too
much of the page is missing, say, or its document is not the recorded one. But what a page asks for may be chance, so a
load that is not good is tried once more, and what fails by accident is left to the experiment. Times are not judged:
there is no simulated network here.
"""

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from harness.browser.program import Browser, find_browser
from harness.errors import ExperimentError, printable
from harness.files.hosts import HOST
from harness.files.load_parts import Counters, Coverage, NetworkKind
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure.content_rules import CONTENT
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory, served
from harness.measure.loads import record_of
from harness.measure.preflight import PageSet, ReplayedWeb
from harness.measure.rtts import RttsMs, proven_rtts_ms
from harness.measure.rule import Blame, Verdict, texts, worth_another_try
from harness.measure.rules import BESIDE_OTHERS, judge
from harness.measure.settings import Settings
from harness.network.arrivals import Arrivals
from harness.network.links import Delay
from harness.network.rtt import measure_held_rtts
from harness.network.star import LinkSpeeds, Star, loopback_star
from harness.replay.authority import AUTHORITY
from harness.system import fastopen
from harness.system.scratch import temporary_directory

LOOPBACK: NetworkKind = "loopback"
QUIET_S, QUIET_LIMIT_S = 0.5, 3.0
"""What comes after the load event of a trial counts for nothing."""
TRIES = 2
"""So many loads are made before a page is said to be unfit."""
OF_THE_CONTENT = (*CONTENT, *BESIDE_OTHERS)
WITHOUT_LINKS = {**dict.fromkeys(("bw_home_mbit", "bw_home_up_mbit", "buffer_kb", "bw_net_mbit")),
                 "network": LOOPBACK, "delay_by": "the servers"}
"""What an experiment's file says of the network."""


@dataclass(frozen=True, kw_only=True)
class LoopbackLaboratory(Laboratory):
    """A laboratory whose hosts share a network namespace: one of its own (`chrome.loopback_tfo`), or the machine's."""

    network: ClassVar[NetworkKind] = LOOPBACK
    nice: ClassVar[int] = 10
    """Servers stand for other machines, which wait for no browser. Only root could favour them."""

    def switch_fastopen(self, tfo: int) -> None:
        """Switch TFO off (0) or on (1). In the machine's own namespace the shim uses none towards loopback."""
        if self.chrome.loopback_tfo:
            fastopen.set_fastopen([os.getpid()], fastopen.ON if tfo else fastopen.OFF)

    def counts(self) -> Counters:
        """Return where the kernel's counters stand; none in the machine's own namespace, where others count, too."""
        return {self.network: fastopen.read_counters(os.getpid())} if self.chrome.loopback_tfo else {}

    def noting_arrivals(self) -> AbstractContextManager[Arrivals]:
        """Note nothing: on loopback a packet arrives at once, and the server's log says when it was sent."""
        return nullcontext(Arrivals())


@contextmanager
def running_loopback(speeds: LinkSpeeds, web: ReplayedWeb, browser: Browser, *, own_network: bool,
                     results_dir: Path, patience_s: float = 0,
                     authority: Path = AUTHORITY) -> Iterator[LoopbackLaboratory]:
    """Run the servers on loopback while this lasts, ready for harness.measure.loads.measure_load.

    Only the RTT of `speeds` is used: the servers hold their answers back for it. `authority` is the folder of another
    certificate authority than this machine's own. Raises ExperimentError when the servers do not hold answers back for
    as long as they should.
    """
    star = loopback_star(web.page_set.hosts)
    with temporary_directory() as work_dir, served(
            Delay(star), [speeds], web, browser, work_dir=work_dir, results_dir=results_dir,
            held_rtt_ms=speeds.rtt_ms, authority=authority) as lab:
        yield LoopbackLaboratory(**vars(lab) | {
            "chrome": replace(lab.chrome, loopback_tfo=own_network),
            "measured_rtt_ms": _proven_rtts_ms(star, web, speeds.rtt_ms, patience_s)})


def _proven_rtts_ms(star: Star, web: ReplayedWeb, wanted_ms: float, patience_s: float) -> RttsMs:
    """Measure the RTT that each server simulates, in ms (harness.measure.rtts); nothing where there is none."""
    if not wanted_ms:
        return dict.fromkeys(star.servers, 0.0)
    ports = (web.settings.port, web.settings.https_port)
    secure = {name: "http" not in web.page_set.recording.schemes(name) for name in star.servers}
    places = {name: (host.address, ports[secure[name]], secure[name]) for name, host in star.servers.items()}
    return proven_rtts_ms(lambda: measure_held_rtts(places), dict.fromkeys(places, wanted_ms),
                          "first answers are held for two", patience_s)


@dataclass(frozen=True)
class Trial:
    """The result for one page. `unfit` says why it is not fit to be measured, `failed` why that is not known.

    `coverage` is what the last load got of the recording, None where there was no load event.
    """

    unfit: tuple[str, ...] = ()
    failed: str = ""
    coverage: Coverage | None = None


def try_pages(page_set: PageSet, settings: Settings) -> dict[Page, Trial]:
    """Load each page of `page_set` from its recording, served and loaded as `settings` say. Raises ExperimentError."""
    with loopback_of(page_set, settings) as lab:
        return {page: _try(lab, page) for page in page_set.pages}


def say_ready(trials: Mapping[Page, Trial], what: str) -> int:
    """Print that `what` can be measured, or why some pages cannot; return the exit status."""
    unfit = {page: trial.unfit for page, trial in trials.items() if trial.unfit}
    for page, why in unfit.items():
        print(printable(f"{page.url}: not fit to be measured: {'; '.join(why)}; record it again, or take it out"),
              file=sys.stderr)
    if not unfit:
        print(f"ready: {what}")
    return 1 if unfit else 0


def trial_of(loads: Iterator[tuple[LoadRecord, Verdict]]) -> Trial:
    """Return what loads of a page, each with the verdict on it, say of the page. None is made after a good one.

    What one of them blames the page for counts, whatever the others met.
    """
    coverage, verdicts = None, list[Verdict]()
    for load, verdict in loads:
        coverage = load.answers.coverage if load.answers else None
        if not verdict:
            return Trial(coverage=coverage)
        verdicts.append(verdict)
    reasons = next((verdict for verdict in verdicts if not worth_another_try(verdict)), verdicts[-1])
    own = texts(reason for reason in reasons if reason.blame is Blame.PAGE)
    return Trial(tuple(own), "" if own else reasons[0].text, coverage)


def _try(lab: Laboratory, page: Page) -> Trial:
    loads = (record_of(lab, Load(page, run, 0)) for run in range(TRIES))
    try:
        return trial_of((load, judge([load], OF_THE_CONTENT)[0]) for load in loads)
    except ExperimentError as error:
        return Trial(failed=str(error))


@contextmanager
def loopback_of(page_set: PageSet, settings: Settings) -> Iterator[Laboratory]:
    """Serve all hosts of the recording while this lasts, with a certificate authority that lasts as long."""
    port, tls_port = _free_ports()
    settings = replace(settings, port=port, tls_port=tls_port, layout=HOST, quiet_s=QUIET_S,
                       quiet_limit_s=QUIET_LIMIT_S)
    web = ReplayedWeb(page_set=page_set, settings=settings)
    with temporary_directory() as directory, running_loopback(
            LinkSpeeds(delay_net_ms=0), web, find_browser(), own_network=False, results_dir=directory,
            authority=directory / "authority") as lab:
        yield lab


def _free_ports() -> Sequence[int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]
