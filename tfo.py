#!/usr/bin/env python3
"""One experiment: load pages from a mirror over a network with a given delay, without and with TCP Fast Open.

                      s0 (switch)
          1000 Mbit/s  /  |  \\      4 Mbit/s, delaynet ms each way, to every server
                      /   |   \\
                  user server0 server1 ...          RTT = 2 * (delaynet + delayhome)

`user` runs headless Chrome; every server replays one web site of the mirror. All pages are loaded `testruns` times
without and with TFO, interleaved. Run 0 warms up (TFO cookies, caches); the others are measured. With --until-ci pages
are loaded more often, until what TFO improves is known well enough. Every load leaves a log, a HAR and a record of its
proof in client/, every server a log in serverlogs/. plot.py makes the table of them.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness import environment, preflight, validity
from harness.adaptive import Goal, expected_loads, first_guess, more_loads, outcome_lines
from harness.authority import open_authority
from harness.browser import Browser
from harness.client_hello import find_groups
from harness.fastopen import ON, set_fastopen
from harness.hack_dns import Remap, write_hack_dns
from harness.kernel import check_kernel, real_time_allowed
from harness.links import delayed_links, kernel_has_netem
from harness.loads import Laboratory, Limits, measure_load
from harness.lock import only_experiment
from harness.on_user import run_on_user
from harness.pages import Page
from harness.plan import Load, plan_loads
from harness.privileges import browsing_user, give, invoking_user, passable_temp_root, require_root
from harness.processes import adopt_orphans, end_strays
from harness.progress import counted
from harness.recording import Recording
from harness.results import write_experiment
from harness.rtt import check_rtts, measure_rtts
from harness.series import Measured, finished_files, judge_together, write_down
from harness.servers import ServerSettings, running_servers
from harness.signals import run_interruptible
from harness.star import LinkSpeeds, Star, running_star
from harness.tfo_options import parse_arguments


def main() -> int:
    """Run the experiment; the exit status is 0 only if every page load was valid."""
    arguments = parse_arguments(__doc__)

    # What is to be measured, and can it be? Nothing is touched before all of this is right.
    require_root("./tfo.py")
    preflight.check_programs(pcap=arguments.pcap)
    browser = preflight.check_browser()
    preflight.check_room(passable_temp_root())
    files = preflight.Files(arguments.dir, arguments.name)
    pages, recording = preflight.check_pages(files)
    document_bytes = preflight.document_bytes(files, recording, pages)
    speeds = LinkSpeeds(arguments.bwhome, arguments.bwnet, arguments.delayhome, arguments.delaynet)
    loads = plan_loads(pages, arguments.testruns, arguments.tfos, arguments.seed)
    netem = kernel_has_netem()
    check_kernel(delay_line=not netem and speeds.one_way_ms > 0)
    client_dir, server_log_dir = arguments.dir / "client", arguments.dir / "serverlogs"
    if arguments.dry_run:
        print(f"ready: {len(pages)} pages on {len(recording.hosts())} hosts, {len(loads)} page loads")
        return 0

    with ExitStack() as laboratory:
        laboratory.enter_context(only_experiment())
        work_dir = laboratory.enter_context(temporary_directory())

        # The network, and proof of its delay.
        star = laboratory.enter_context(running_star(recording.hosts(), speeds, netem))
        laboratory.enter_context(delayed_links(star, speeds, netem))
        rtts_ms = measure_rtts(star, arguments.port, nominal_ms=speeds.rtt_ms)
        print(f"RTT to {len(rtts_ms)} servers: {min(rtts_ms.values()):.1f} to {max(rtts_ms.values()):.1f} ms measured, "
              f"{speeds.rtt_ms:g} ms wanted ({'netem' if netem else 'delay line'})", flush=True)
        check_rtts(rtts_ms, speeds.rtt_ms)

        # The web, as it was when it was recorded.
        server_log_dir.mkdir(exist_ok=True)
        give(server_log_dir, invoking_user())
        settings = ServerSettings(files.mirror, files.fetchlog, arguments.port, arguments.http, arguments.server,
                                  server_log_dir, arguments.delaynet, invoking_user(), arguments.tls_port)
        secure = any("https" in recording.schemes(host) for host in recording.hosts())
        authority = open_authority(owner=invoking_user()) if secure else None
        laboratory.enter_context(running_servers(star, settings, work_dir))
        hack_dns = remap_hosts(star, recording, arguments)
        if arguments.on_user:
            set_fastopen(star.pids, ON)
            return run_on_user(star.user, arguments.on_user, invoking_user())

        # The measurement.
        lab = Laboratory(star, browser, browsing_user(), invoking_user(), work_dir, hack_dns, client_dir,
                         server_log_dir, arguments.delaynet, speeds.rtt_ms, rtts_ms, arguments.predict,
                         Limits(load_s=arguments.timeout), authority.fingerprint if authority else None,
                         small_client_hello(browser, arguments) if authority else None, arguments.pcap)
        description = describe(arguments, lab, speeds, pages, synthetic=recording.manifest.synthetic, netem=netem)
        write_experiment(client_dir, arguments.delaynet, description)
        give(client_dir, invoking_user())
        series = measure(lab, loads, document_bytes, arguments.goal, description)

    return summarise(series, arguments.goal)


def small_client_hello(browser: Browser, arguments: argparse.Namespace) -> int | None:
    """Return where Chrome's post-quantum key share is to be taken out, so that a ClientHello fits into a SYN."""
    if arguments.post_quantum:
        return None
    place = find_groups(browser.binary)
    if place is None:
        print("tfo.py: this Chrome's ClientHello cannot be made to fit into a SYN: TFO will save nothing over https",
              file=sys.stderr)
    return place


def measure(lab: Laboratory, loads: list[Load], document_bytes: dict[Page, int], goal: Goal | None,
            description: dict[str, Any]) -> list[Measured]:
    """Do all page loads in order, and with a goal more of them until it is reached; write each one down at once."""
    series: list[Measured] = []
    with counted(len(loads)) as progress, finished_files(lab, series):
        if goal:
            progress.expect(first_guess(loads))
        while loads:
            for load in loads:
                record = measure_load(lab, load)
                series.append(Measured(load, record, validity.reasons(record, document_bytes.get(load.page))))
                write_down(lab, series, description)
                progress.done(series[-1].in_words())
            loads = more_loads(judge_together(series), goal, description["seed"]) if goal else []
            if goal:
                progress.expect(expected_loads(judge_together(series), goal))
    return judge_together(series)


def summarise(series: list[Measured], goal: Goal | None) -> int:
    """Say how well the goal was reached, and which loads are not valid, and why; return the exit status."""
    failed = [one.in_words() for one in series if one.why_not]
    for line in failed:
        print(line, file=sys.stderr)
    for line in outcome_lines(series, goal) if goal else ():
        print(line)
    print(f"{len(series) - len(failed)} of {len(series)} page loads are valid", flush=True)
    return 1 if failed else 0


def remap_hosts(star: Star, recording: Recording, arguments: argparse.Namespace) -> Path:
    """Write the file that leads Chrome from each site's name to its server; return its path."""
    path: Path = arguments.dir / "hack_dns"
    ports = {"http": arguments.port, "https": arguments.tls_port}
    write_hack_dns(path, [Remap(name, host.address, ports[scheme], scheme)
                          for name, host in star.servers.items() for scheme in recording.schemes(name)])
    give(path, invoking_user())
    return path


def describe(arguments: argparse.Namespace, lab: Laboratory, speeds: LinkSpeeds, pages: list[Page], *,
             synthetic: bool, netem: bool) -> dict[str, Any]:
    """Return what an experiment's file says about all of its loads; "order" grows with them."""
    return {
        "name": arguments.name, "pages": [page.url for page in pages], "synthetic": synthetic,
        "seed": arguments.seed, "http": arguments.http, "server": arguments.server, "tfo": arguments.tfo,
        "testruns": arguments.testruns, "until_ci": asdict(arguments.goal) if arguments.goal else None,
        "order": [], "pcap": arguments.pcap,
        "post_quantum": lab.key_shares is None if lab.trusted_key else None,
        "predict": arguments.predict, "timeout_s": arguments.timeout,
        "bw_home_mbit": speeds.bw_home_mbit, "bw_net_mbit": speeds.bw_net_mbit,
        "delayhome_ms": speeds.delay_home_ms, "delaynet_ms": speeds.delay_net_ms, "rtt_ms": speeds.rtt_ms,
        "delay_by": delay_by(netem=netem), "measured_rtt_ms": lab.measured_rtt_ms,
        "server_congestion_control": environment.server_congestion_control(lab.star.user.pid),
        **environment.machine(), "sysctls": environment.sysctls(lab.star.user.pid),
    }


def delay_by(*, netem: bool) -> str:
    """Return in words what delays packets; without real-time priority the delay line may be late now and then."""
    return "netem" if netem else "delay line" if real_time_allowed() else "delay line without real-time priority"


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; whatever runs or lies there is gone at the end."""
    adopt_orphans()
    with TemporaryDirectory(prefix="tfo-lab-", dir=passable_temp_root(), ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        try:
            yield Path(name)
        finally:
            end_strays(known=set())


if __name__ == "__main__":
    run_interruptible(main)
