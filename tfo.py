#!/usr/bin/env python3
"""One experiment: load pages from a mirror over a network with one delay after another, without and with TCP Fast Open.

                      s0 (switch)
          1000 Mbit/s  /  |  \\      4 Mbit/s, delaynet ms each way, to every server
                      /   |   \\
                  user server0 server1 ...          RTT = 2 * (delaynet + delayhome), or as recorded (--rtt)

`user` runs headless Chrome; every server replays one web site of the mirror. All pages are loaded `testruns` times
without and with TFO, interleaved, at each delay. Run 0 warms up (TFO cookies, caches), at the first delay only; the
others are measured. With --until-ci pages are loaded until each page's improvement is precise enough: until its 95%
interval is that narrow. Every load leaves a log, a HAR and a record of its proof in client/, every server a log in
serverlogs/. plot.py makes the table of them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.measure.command_line import parse_arguments

if __name__ == "__main__":
    parse_arguments(__doc__)        # --help, and what is wrong: before all that an experiment needs is loaded

from harness.files.pages import CLIENT, PageFiles
from harness.measure.experiment import known, measure_stages
from harness.measure.folders import check_folders, open_results
from harness.measure.laboratory import running_laboratory
from harness.measure.loopback import say_ready, try_pages
from harness.measure.preflight import (
    ReplayedWeb,
    check_authority,
    check_browser,
    check_pages,
    check_room,
    check_transports,
)
from harness.measure.resume import in_words, stages_of
from harness.measure.rtts import links, thinking_rtts
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.network.programs import run_on_user
from harness.network.star import check_host_count
from harness.system.contained import begin_experiment
from harness.system.environment import wait_for_quiet
from harness.system.fastopen import ON, set_fastopen
from harness.system.lock import only_experiment
from harness.system.privileges import invoking_user, passable_temp_root
from harness.system.signals import run_interruptible


def main() -> int:
    """Run the experiment; the exit status is 0 only if every page load was valid."""
    settings, how = parse_arguments(__doc__)

    # Check: nothing is touched before it is known that all of this can be measured.
    begin_experiment("./tfo.py")
    check_programs(pcap=settings.pcap)
    browser = check_browser(settings.connections_per_host)
    check_room(passable_temp_root())
    files = PageFiles(how.dir, settings.name)
    check_folders(how.dir, files, invoking_user())
    page_set = check_pages(files)
    check_authority(page_set)
    check_transports(settings, page_set)

    # Web: each recorded host has a server that answers as it did when it was recorded; Chrome is the only client.
    web = ReplayedWeb(page_set=page_set, settings=settings,
                      think_rtts_ms=thinking_rtts(page_set) if settings.think else None)
    check_host_count([*web.servers])

    # Network: a star with the same rate and delay to every server, or each as far away as it was when it was recorded;
    # one RTT after the other, measured before anything is loaded at it.
    star_links = links(web)
    netem = delays_by_netem(max(speeds.longest_rtt_ms for speeds in star_links))

    # Plan: each page without and with TFO, run by run; less the valid loads of an experiment that is resumed.
    said = [known(web, browser, speeds, netem=netem) for speeds in star_links]
    stages = stages_of(page_set.pages, settings, star_links, said, how.dir / CLIENT if how.resume else None)
    planned = in_words(stages, page_set.pages, settings)
    if how.dry_run:
        trials = try_pages(page_set, settings) if how.dry_run == "load" else {}
        return say_ready(trials, f"{len(page_set.pages)} pages on {len(page_set.hosts)} hosts; {planned}")
    if how.on_user:
        with only_experiment(), running_laboratory(star_links[:1], web, browser, netem=netem,
                                                   results_dir=how.dir) as lab:
            star = lab.at(star_links[0]).star
            set_fastopen(star.pids, ON)
            return run_on_user(star.user, how.on_user, invoking_user())

    # Measurement: once the machine is quiet; every load is judged and written down as soon as it is done.
    replaced_ms = [speeds.delay_net_ms for speeds in star_links] if how.typed is None else None
    with only_experiment(), open_results(how.dir, replaced_ms, resume=how.resume, typed=how.typed):
        print(planned, flush=True)
        to_do = [stage for stage in stages if not stage.says_it_is_done()]
        if not to_do:
            return 0
        busy = wait_for_quiet(how.patience)
        with running_laboratory([stage.speeds for stage in to_do], web, browser, netem=netem,
                                results_dir=how.dir) as lab:
            return measure_stages(lab, to_do, busy, how.patience)


if __name__ == "__main__":
    run_interruptible(main)
