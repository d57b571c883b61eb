"""The laboratory of an experiment: the star with its delay, the servers that replay a recording, and what loads need.

tfo.py and the benchmarks use the same one, so what the benchmarks find holds for the experiments, too.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import msgspec

from harness.browser.binary import GROUPS, find_once
from harness.browser.chrome import ChromeSettings
from harness.browser.program import Browser, require_shim
from harness.files.experiment import new_experiment_id
from harness.files.hosts import Remap, origins, resolver_rules, write_hack_dns
from harness.files.load_parts import Counters, NetworkKind
from harness.files.pages import CLIENT, HACK_DNS, SERVER_LOGS, Page
from harness.files.server_log import directory_name
from harness.files.transport import read_middlebox
from harness.measure.coverage import RecordedPage, recorded_page
from harness.measure.preflight import ReplayedWeb, check_connection_limit, document_bytes
from harness.measure.rtts import proven_rtts_of_star_ms
from harness.measure.settings import Settings
from harness.network.arrivals import Arrivals, noting_arrivals
from harness.network.links import Delay, delay_line_drops, delaying, home_drops
from harness.network.nodes import running_star
from harness.network.programs import StandingBox, running_servers, standing
from harness.network.star import LinkSpeeds, Star, check_hosts
from harness.replay.authority import AUTHORITY, open_authority
from harness.system import fastopen
from harness.system.background import BackgroundProgram
from harness.system.privileges import invoking_user
from harness.system.scratch import temporary_directory
from harness.system.untrusted import read_untrusted


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Everything a load needs: the running star and where things are."""

    web: ReplayedWeb
    browser: Browser
    work_dir: Path
    results_dir: Path
    chrome: ChromeSettings
    """How Chrome is started for any load; what differs from load to load is in harness.measure.loads."""
    recorded: Mapping[Page, RecordedPage]
    """What the recording holds for each page."""
    delay: Delay
    servers: BackgroundProgram
    middlebox: StandingBox | None = None
    """What stands on the way to the servers."""
    speeds: LinkSpeeds
    measured_rtt_ms: Mapping[str, float] = field(default_factory=dict)
    """To each server over links of these `speeds`; nothing before that was measured (`at`)."""
    experiment_id: str = field(default_factory=new_experiment_id)
    """Stands in the experiment's file and in each of its loads' records, so that a reader can tell them from others."""
    network: ClassVar[NetworkKind] = "star"
    nice: ClassVar[int] = 0
    """Chrome's, by nice(1)."""

    def at(self, speeds: LinkSpeeds, *, experiment_id: str | None = None, patience_s: float = 0) -> "Laboratory":
        """Give the links the delays of `speeds`, measure the RTT to each server, and be an experiment's laboratory.

        What was one before is none any more. Raises ExperimentError, an RttError when a measured RTT is not what it
        should be after `patience_s`.
        """
        self.delay.change(speeds)
        rtts_ms = proven_rtts_of_star_ms(self.star, speeds, netem=self.delay.netem, patience_s=patience_s)
        return replace(self, speeds=speeds, measured_rtt_ms=rtts_ms,
                       experiment_id=experiment_id or new_experiment_id())

    @property
    def star(self) -> Star:
        """The hosts."""
        return self.delay.star

    @property
    def client_dir(self) -> Path:
        """Where loads are written down."""
        return self.results_dir / CLIENT

    @property
    def settings(self) -> Settings:
        """What was chosen for the experiment."""
        return self.web.settings

    @property
    def delaynet_ms(self) -> float:
        """One-way delay of the servers' links, after which folders are named."""
        return self.speeds.delay_net_ms

    @property
    def rtt_ms(self) -> float:
        """Round-trip time to a server."""
        return self.speeds.rtt_ms

    @property
    def server_names(self) -> dict[str, str]:
        """The servers by their addresses."""
        return {host.address: name for name, host in self.star.servers.items()}

    @property
    def queues_at_home(self) -> bool:
        """Whether packets of the servers, each as fast as its link is, may have to queue before user's link."""
        return self.network == "star" and self.speeds.home_fills_up(len(self.star.servers))

    def check_programs_beside(self) -> None:
        """Raise ExperimentError when delay line, servers or a host have ended, with their last words."""
        self.delay.check()
        self.servers.check()
        if self.middlebox:
            self.middlebox.program.check()
        check_hosts(self.star)

    def switch_fastopen(self, tfo: int) -> None:
        """Switch TFO off (0) or on (1) in the kernel of every host."""
        fastopen.set_fastopen(self.star.pids, fastopen.ON if tfo else fastopen.OFF)

    def counts(self) -> Counters:
        """Return where all counts stand that grow over a load: the kernel's, of `user` and summed over the servers; of
        packets that were lost by the delay line, and by the buffers of user's own link where packets queue before it;
        and of the SYNs that the middlebox saw and touched.
        """
        servers = fastopen.total(fastopen.read_counters(server.pid) for server in self.star.servers.values())
        return {"user": fastopen.read_counters(self.star.user.pid), "servers": servers,
                "delay line": {"drops": delay_line_drops(self.star.user)},
                "buffers": home_drops(self.star) if self.queues_at_home else {},
                "middlebox": self.middlebox.counts() if self.middlebox else {}}

    def noting_arrivals(self) -> AbstractContextManager[Arrivals]:
        """Note what arrives at `user` while this lasts."""
        return noting_arrivals(self.star.user)

    @property
    def server_logs(self) -> list[Path]:
        """The directories in which the servers log loads: which of them is the kernel's switch of TFO to say."""
        return [self.results_dir / SERVER_LOGS / directory_name(self.delaynet_ms, tfo) for tfo in (0, 1)]


@contextmanager
def running_laboratory(links: Sequence[LinkSpeeds], web: ReplayedWeb, browser: Browser, *, netem: bool,
                       results_dir: Path | None = None) -> Iterator[Laboratory]:
    """Run the star and its servers while this lasts, for loads over each of `links` in turn (`Laboratory.at`).

    `links` differ only in their delay, which netem makes or the delay line. Results go into `results_dir`, or are
    thrown away at the end. Raises ExperimentError.
    """
    kind, seed = web.settings.middlebox, web.settings.seed
    with temporary_directory() as work_dir, running_star([*web.servers], links[0], netem) as star, delaying(
            star, netem=netem, delayed=any(speeds.longest_rtt_ms for speeds in links)) as delay, (
            standing(star, read_middlebox(kind), seed) if kind else nullcontext()) as middlebox, served(
            delay, links, web, browser, work_dir=work_dir, results_dir=results_dir or work_dir) as lab:
        yield replace(lab, middlebox=middlebox)


@contextmanager
def served(delay: Delay, links: Sequence[LinkSpeeds], web: ReplayedWeb, browser: Browser, *, work_dir: Path,
           results_dir: Path, held_rtt_ms: float = 0.0, authority: Path = AUTHORITY) -> Iterator[Laboratory]:
    """Run the servers of `web` on the hosts of a star while this lasts, for loads over `links`.

    With `held_rtt_ms` the servers hold their answers back for round trips of that length. `authority` is the folder of
    their certificate authority.
    """
    star, settings, server_log_dir = delay.star, web.settings, results_dir / SERVER_LOGS
    server_log_dir.mkdir(exist_ok=True)
    secure = open_authority(authority) if web.page_set.secure else None
    key_shares = place_of_key_shares(settings, browser) if secure else None
    if secure and not settings.post_quantum and key_shares is None:
        print("tfo.py: this Chrome's ClientHello cannot be made to fit into a SYN: TFO will save nothing over https",
              file=sys.stderr)
    ports = {"http": settings.port, "https": settings.https_port}
    remaps = [Remap(name, star.servers[web.layout.server_of(name)].address, ports[scheme], scheme)
              for name in web.page_set.hosts for scheme in web.page_set.recording.schemes(name)]
    write_hack_dns(results_dir / HACK_DNS, remaps)        # for people, and for --on-user
    chrome = ChromeSettings(
        work_dir, resolver_rules(remaps), _own_shim(work_dir), predict=settings.predict,
        trusted_key=secure.fingerprint if secure else None, quic_origins=origins(remaps, "https"),
        key_shares=key_shares,
        connection_limit=check_connection_limit(browser, settings.connections_per_host))
    recording, files = web.page_set.recording, web.page_set.files
    with running_servers(star, files.mirror, files.fetchlog, msgspec.to_builtins(settings),
                         work_dir, logdir=server_log_dir, delays_ms=[speeds.delay_net_ms for speeds in links],
                         user=invoking_user(), names=web.servers, held_rtt_ms=held_rtt_ms,
                         think_rtts_ms=web.think_rtts_ms, authority=authority) as servers:
        yield Laboratory(
            web=web, browser=browser, work_dir=work_dir, results_dir=results_dir, chrome=chrome,
            recorded={page: recorded_page(recording, files.mirror, page.name, document_bytes(files, recording, page))
                      for page in web.page_set.pages},
            delay=delay, servers=servers, speeds=links[0])


def _own_shim(work_dir: Path) -> Path:
    """Copy the shim to where Chrome's user can read it, even if the project's folder is private, but not change it."""
    shim = work_dir / "chrome_shim.so"
    shim.write_bytes(read_untrusted(require_shim()))
    shim.chmod(0o755)
    return shim


def place_of_key_shares(settings: Settings, browser: Browser) -> int | None:
    """Return where Chrome's post-quantum key share is to be taken out, so that a ClientHello fits into a SYN.

    None where it is left in: as the settings say, or since this Chrome has it elsewhere.
    """
    return None if settings.post_quantum else find_once(browser.binary, GROUPS)
