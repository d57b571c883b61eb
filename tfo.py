#!/usr/bin/env python3
"""One experiment: load pages from a mirror over a network with a given delay, without and with TCP Fast Open.

                      s0 (switch)
          1000 Mbit/s  /  |  \\      4 Mbit/s, delaynet ms each way, to every server
                      /   |   \\
                  user server0 server1 ...          RTT = 2 * (delaynet + delayhome)

`user` runs headless Chrome; every server replays one web site of the mirror. All pages are loaded `testruns` times
without and with TFO, interleaved. Run 0 warms up (TFO cookies, caches); the others are measured. Every load leaves a
log, a HAR and a record of its proof in client/, every server a log in serverlogs/. plot.py makes the table of them.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness import environment, preflight, validity
from harness.authority import open_authority
from harness.browser import Browser
from harness.client_hello import find_groups
from harness.errors import InputError
from harness.fastopen import ON, set_fastopen
from harness.hack_dns import Remap, write_hack_dns
from harness.links import delayed_links, kernel_has_netem
from harness.loads import Laboratory, Limits, measure_load, write_record
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
from harness.servers import ServerSettings, running_servers
from harness.signals import run_interruptible
from harness.star import LinkSpeeds, Star, running_star

Records = list[tuple[Load, dict[str, Any], list[str]]]
"""Every load in order, with its record and the reasons why it is not valid."""


def main() -> int:
    """Run the experiment; the exit status is 0 only if every page load was valid."""
    arguments = parse_arguments()

    # What is to be measured, and can it be? Nothing is touched before all of this is right.
    require_root("./tfo.py")
    preflight.check_programs()
    browser = preflight.check_browser()
    files = preflight.Files(arguments.dir, arguments.name)
    pages, recording = preflight.check_pages(files)
    document_bytes = preflight.document_bytes(files, recording, pages)
    speeds = LinkSpeeds(arguments.bwhome, arguments.bwnet, arguments.delayhome, arguments.delaynet)
    loads = plan_loads(pages, arguments.testruns, arguments.tfos, arguments.seed)
    netem = kernel_has_netem()
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
        rtts_ms = measure_rtts(star, arguments.port)
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
                         small_client_hello(browser, arguments) if authority else None)
        write_experiment(client_dir, arguments.delaynet,
                         describe(arguments, lab, speeds, loads, synthetic=recording.manifest.synthetic, netem=netem))
        give(client_dir, invoking_user())
        records = measure(lab, loads, document_bytes)

    return summarise(records)


def small_client_hello(browser: Browser, arguments: argparse.Namespace) -> int | None:
    """Return where Chrome's post-quantum key share is to be taken out, so that a ClientHello fits into a SYN."""
    if arguments.post_quantum:
        return None
    place = find_groups(browser.binary)
    if place is None:
        print("tfo.py: this Chrome's ClientHello cannot be made to fit into a SYN: TFO will save nothing over https",
              file=sys.stderr)
    return place


def measure(lab: Laboratory, loads: list[Load], document_bytes: dict[Page, int]) -> Records:
    """Do all page loads in order, judge each, and write each one's record as soon as it is there."""
    records: Records = []
    with counted(len(loads)) as progress:
        for load in loads:
            record = measure_load(lab, load)
            why_not = validity.reasons(record, document_bytes.get(load.page))
            write_record(lab, load, record, why_not)
            records.append((load, record, why_not))
            progress.done(in_words(load, record, why_not))
    return judge_request_sets(lab, records)


def judge_request_sets(lab: Laboratory, records: Records) -> Records:
    """Find the loads whose requests differ from those of the page's other loads: only now all are known."""
    judged: Records = []
    for page in dict.fromkeys(load.page for load, _, _ in records):
        of_page = [entry for entry in records if entry[0].page == page]
        verdicts = validity.request_set_reasons([record for _, record, _ in of_page])
        for (load, record, why_not), more in zip(of_page, verdicts, strict=True):
            if more:
                write_record(lab, load, record, why_not + more)
            judged.append((load, record, why_not + more))
    return judged


def summarise(records: Records) -> int:
    """Say which loads are not valid, and why; return the exit status."""
    failed = [in_words(load, record, why_not) for load, record, why_not in records if why_not]
    for line in failed:
        print(line, file=sys.stderr)
    print(f"{len(records) - len(failed)} of {len(records)} page loads are valid", flush=True)
    return 1 if failed else 0


def in_words(load: Load, record: dict[str, Any], why_not: list[str]) -> str:
    """Return one load as a line for people."""
    what = f"{load.page.url} {record['rtt_ms']:g} ms run {load.run} TFO {'on ' if load.tfo else 'off'}"
    if why_not:
        return f"{what}  FAILED: {'; '.join(why_not)}"
    return (f"{what}  PLT {record['plt_ms'] / 1000:.3f} s, {record['requests']} requests, "
            f"{record['syn_data_connections']} of {record['connections_with_request']} in the SYN")


def remap_hosts(star: Star, recording: Recording, arguments: argparse.Namespace) -> Path:
    """Write the file that leads Chrome from each site's name to its server; return its path."""
    path: Path = arguments.dir / "hack_dns"
    ports = {"http": arguments.port, "https": arguments.tls_port}
    write_hack_dns(path, [Remap(name, host.address, ports[scheme], scheme)
                          for name, host in star.servers.items() for scheme in recording.schemes(name)])
    give(path, invoking_user())
    return path


def describe(arguments: argparse.Namespace, lab: Laboratory, speeds: LinkSpeeds, loads: list[Load], *,
             synthetic: bool, netem: bool) -> dict[str, Any]:
    """Return what an experiment's file says about all of its loads."""
    pages = dict.fromkeys(load.page for load in loads)
    return {
        "name": arguments.name, "pages": [page.url for page in pages], "synthetic": synthetic,
        "seed": arguments.seed, "http": arguments.http, "server": arguments.server, "tfo": arguments.tfo,
        "testruns": arguments.testruns, "order": [[load.page.url, load.run, load.tfo] for load in loads],
        "post_quantum": lab.key_shares is None if lab.trusted_key else None,
        "predict": arguments.predict, "timeout_s": arguments.timeout,
        "bw_home_mbit": speeds.bw_home_mbit, "bw_net_mbit": speeds.bw_net_mbit,
        "delayhome_ms": speeds.delay_home_ms, "delaynet_ms": speeds.delay_net_ms, "rtt_ms": speeds.rtt_ms,
        "delay_by": "netem" if netem else "delay line", "measured_rtt_ms": lab.measured_rtt_ms,
        **environment.machine(), "sysctls": environment.sysctls(lab.star.user.pid),
    }


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


def parse_arguments() -> argparse.Namespace:
    """Read the command line. Raises InputError for numbers that make no experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="Paper", help="pages to load: NAME.pages, NAME/ and NAME.fetchlog/")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are, and the results go (the project)")
    parser.add_argument("--bwhome", type=float, default=1000, help="bandwidth of user's link, Mbit/s (1000)")
    parser.add_argument("--delayhome", type=float, default=0, help="one-way delay of user's link, ms (0)")
    parser.add_argument("--bwnet", type=float, default=4, help="bandwidth of each server's link, Mbit/s (4)")
    parser.add_argument("--delaynet", type=float, default=10, help="one-way delay of each server's link, ms (10)")
    parser.add_argument("--port", type=int, default=8000, help="port the servers listen on (8000)")
    parser.add_argument("--tls-port", type=int, help="port they listen on for https (--port + 1)")
    parser.add_argument("--tfo", choices=["0", "1", "both"], default="both", help="without, with, or both (both)")
    parser.add_argument("--testruns", type=int, default=4, help="loads of each page; the first warms up (4)")
    parser.add_argument("--http", choices=["1.0", "1.1", "h2", "recorded"], default="1.0",
                        help="1.0: http opens a connection for every request, https is as recorded (HTTP/2 where that "
                        "was spoken, else 1.1); 1.1: both keep connections alive, no HTTP/2; h2: https offers HTTP/2 "
                        "everywhere; recorded: http keeps connections alive, https is as recorded (1.0)")
    parser.add_argument("--server", choices=["threaded", "2013"], default="threaded",
                        help="2013: the old single-threaded server, to see what it did to the results")
    parser.add_argument("--post-quantum", action="store_true", help="leave Chrome's ClientHello as it is: longer than "
                        "a SYN can carry, so that TFO saves nothing over https")
    parser.add_argument("--predict", action="store_true", help="let Chrome open connections ahead of need")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a page may take to its load event (60)")
    parser.add_argument("--seed", type=int, default=1, help="decides which of TFO off and on goes first (1)")
    parser.add_argument("--on-user", metavar="COMMAND", help="load no pages, but run this on `user` while the servers "
                        "are up, such as bash; hack_dns leads to them")
    parser.add_argument("--dry-run", action="store_true", help="only check that all is ready; measure nothing")
    arguments = parser.parse_args()
    arguments.tfos = [0, 1] if arguments.tfo == "both" else [int(arguments.tfo)]
    arguments.dir = arguments.dir.resolve()
    arguments.tls_port = arguments.tls_port or arguments.port + 1
    for wrong, problem in (
        (arguments.testruns < 2, "--testruns: at least 2, since run 0 only warms up"),
        (not 1024 <= arguments.port <= 65535, "--port: from 1024 to 65535, since the servers do not run as root"),
        (not 0 < arguments.bwnet <= 1000 or not 0 < arguments.bwhome <= 1000, "--bwnet, --bwhome: over 0, up to 1000"),
        (arguments.delaynet < 0 or arguments.delayhome < 0, "--delaynet, --delayhome: 0 or more"),
        (arguments.timeout <= 0, "--timeout: over 0"),
        (not 1024 <= arguments.tls_port <= 65535 or arguments.tls_port == arguments.port,
         "--tls-port: from 1024 to 65535, and another than --port"),
        (arguments.server == "2013" and arguments.http != "1.0", "--server 2013: speaks HTTP/1.0 only"),
    ):
        if wrong:
            raise InputError(f"tfo.py: {problem}")
    return arguments


if __name__ == "__main__":
    run_interruptible(main)
