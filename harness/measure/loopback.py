"""The laboratory without a network: servers on loopback that hold their answers back, and Chrome beside them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

from harness.browser.program import Browser
from harness.files.experiment import new_experiment_id
from harness.files.load_parts import Counters, NetworkKind
from harness.measure.laboratory import Laboratory, ReplayedWeb, served
from harness.measure.rtts import RttsMs, measured_in_words, proven_rtts_ms
from harness.network.arrivals import Arrivals
from harness.network.links import Delay
from harness.network.rtt import ServerAddress, loopback_star, measure_held_rtts
from harness.network.star import LinkSpeeds, Star
from harness.replay.authority import AUTHORITY
from harness.system import fastopen
from harness.system.scratch import temporary_directory

LOOPBACK: NetworkKind = "loopback"


class FastOpen(Enum):
    """Who does TCP Fast Open, as the experiment's file says it."""

    OWN = "the kernel's, in a network namespace of its own"
    MACHINE = "the kernel's, in the machine's own network namespace"
    SIMULATED = "none: what it would do is simulated from the loads without it"

    @property
    def is_real(self) -> bool:
        """Whether loads with TFO can be measured."""
        return self is not FastOpen.SIMULATED


def fastopen_here(no_network: str) -> tuple[FastOpen, str]:
    """Return who does TFO where this program runs and, in words, why not something better.

    `no_network` is why there is no network namespace of its own, "" if there is one.
    """
    if not no_network:
        return FastOpen.OWN, ""
    value = int(fastopen.SYSCTL.read_text())
    if value & fastopen.ON == fastopen.ON:
        return FastOpen.MACHINE, f"no namespace of its own: {no_network}"
    return FastOpen.SIMULATED, f"no namespace of its own: {no_network}; and this machine's net.ipv4.tcp_fastopen is " \
        f"{value}, which only root can make 3"


def of_loopback(settings: Mapping[str, Any], by: FastOpen, why: str) -> dict[str, Any]:
    """Return an experiment's `settings`, changed to what holds without a network: no link has a rate."""
    links = ("bw_home_mbit", "bw_home_up_mbit", "buffer_kb", "bw_net_mbit")
    return {**settings, **dict.fromkeys(links), "network": LOOPBACK, "delay_by": "the servers", "fastopen_by": by.value,
            "fastopen_because": why}


@dataclass(frozen=True, kw_only=True)
class LoopbackLaboratory(Laboratory):
    """A laboratory whose hosts share one network namespace: one of its own, or the machine's."""

    network: ClassVar[NetworkKind] = LOOPBACK
    nice: ClassVar[int] = 10
    """Servers stand for other machines, which wait for no browser. Only root could favour them."""
    own_network: bool

    def switch_fastopen(self, tfo: int) -> None:
        """Switch TFO off (0) or on (1). In the machine's own namespace Chrome's shim does (`loopback_tfo`)."""
        if self.own_network:
            fastopen.set_fastopen([os.getpid()], fastopen.ON if tfo else fastopen.OFF)

    def counts(self) -> Counters:
        """Return where the kernel's counters stand; none in the machine's own namespace, where others count, too."""
        return {self.network: fastopen.read_counters(os.getpid())} if self.own_network else {}

    def noting_arrivals(self) -> AbstractContextManager[Arrivals]:
        """Note nothing: on loopback a packet arrives at once, and the server's log says when it was sent."""
        return nullcontext(Arrivals())

    def loopback_tfo(self, tfo: int) -> bool:
        """Let Chrome use TFO towards loopback addresses.

        In a namespace of our own the kernel's switch decides whether it then does; in the machine's own namespace only
        this option does, so that loads without TFO do not get it.
        """
        return self.own_network or bool(tfo)

    def server_logs(self, tfo: int) -> list[Path]:
        """Return where the servers log a load.

        Which folder it is depends on the kernel's TFO switch. In the machine's own namespace we must not change that
        switch, so it may be either.
        """
        if self.own_network:
            return super().server_logs(tfo)
        return [*super().server_logs(0), *super().server_logs(1)]


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
            star, web, browser, work_dir, results_dir, delays_ms=[speeds.delay_net_ms], held_rtt_ms=speeds.rtt_ms,
            authority=authority) as fields:
        yield LoopbackLaboratory(
            **fields, measured_rtt_ms=_proven_rtts_ms(star, web, speeds.rtt_ms, patience_s), delay=Delay(star),
            speeds=speeds, experiment_id=new_experiment_id(), own_network=own_network)


def _proven_rtts_ms(star: Star, web: ReplayedWeb, wanted_ms: float, patience_s: float) -> RttsMs:
    """Measure the RTT that each server simulates, in ms (harness.measure.rtts); nothing where there is none."""
    if not wanted_ms:
        return dict.fromkeys(star.servers, 0.0)
    ports = (web.settings.port, web.settings.https_port)
    secure = {name: "http" not in web.page_set.recording.schemes(name) for name in star.servers}
    places = {name: ServerAddress(host.address, ports[secure[name]], secure[name])
              for name, host in star.servers.items()}

    def in_words(rtts_ms: RttsMs) -> str:
        return f"RTT of {measured_in_words(rtts_ms)}, {wanted_ms:g} ms wanted (first answers are held for two)"

    return proven_rtts_ms(lambda: measure_held_rtts(places), wanted_ms, in_words, patience_s)
