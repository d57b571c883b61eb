#!/usr/bin/env python3
"""Record the pages of NAME.pages into NAME/ (bodies) and NAME.fetchlog/ (logs), for tfo.py to replay.

    myURLS.pages --> Chrome visits each page as a person would --> myURLS/           every body as it came over the wire
                                                                   myURLS.fetchlog/  PAGE, PAGE.har, manifest.json

Needs no root. An older recording is replaced once the new one is complete.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness import browser
from harness.authority import fingerprint
from harness.errors import InputError
from harness.hack_dns import Remap, read_hack_dns, resolver_rules
from harness.page_check import check_pages
from harness.pages import Page, read_pages
from harness.progress import counted
from harness.recorder import Outcome, Plan, record, require_log_names, to_append
from harness.recorder_refetch import Limits, Refetcher
from harness.recorder_visit import Job
from harness.signals import run_interruptible


def main() -> int:
    """Check or record; exit status 1 when a page could not be recorded, 2 for wrong input."""
    options = parse_arguments()
    list_file = options.dir / f"{options.name}.pages"
    if options.check:
        return check(list_file)
    pages = read_pages(list_file)
    require_log_names(list_file, pages)
    wanted = to_append(options.dir, options.name, pages) if options.append else pages
    if not wanted:
        print(f"{options.name}: every page of {list_file.name} is recorded already")
        return 0
    plan = make_plan(options, wanted)
    with counted(len(wanted)) as progress:
        outcome = record(plan, progress.done)
    return report(outcome, options)


def check(list_file: Path) -> int:
    """Print every breach of the course's rules; the exit status is 2 when there is one."""
    breaches = check_pages(list_file)
    for breach in breaches:
        print(breach, file=sys.stderr)
    if not breaches:
        print(f"{list_file.name}: {len(read_pages(list_file))} pages, all by the rules")
    return 2 if breaches else 0


def make_plan(options: argparse.Namespace, pages: list[Page]) -> Plan:
    """Return what is to be done. Raises InputError for a wrong --remap or --ca, or when there is no Chrome."""
    remaps = read_hack_dns(options.remap) if options.remap else []
    chrome = browser.find_browser()
    job = Job(url="", binary=chrome.binary, driver=chrome.driver, rules=rules(options.remap, remaps),
              trusted_key=trusted_key(options.ca) if options.ca else None, user_agent=options.user_agent,
              load_timeout_s=options.timeout, quiet_s=options.quiet, quiet_limit_s=options.quiet_limit,
              scroll_steps=options.scroll_steps, command_s=options.command_limit)
    limits = Limits(seconds=options.refetch_limit)
    refetcher = Refetcher(remaps, options.ca, limits) if options.refetch_limit > 0 else None
    existing = options.append and (options.dir / f"{options.name}.fetchlog").exists()
    return Plan(options.dir, options.name, pages, job, refetcher, append=existing,
                note="recorded from a remapped internet" if options.remap else "")


def rules(remap_file: Path | None, remaps: list[Remap]) -> str | None:
    """Return Chrome's host-resolver rules, None for the Internet as it is."""
    if remap_file and not remaps:
        raise InputError(f"{remap_file}:1: no hosts; write: hostname ip port [https]")
    return resolver_rules(remaps) if remaps else None


def trusted_key(certificate_file: Path) -> str:
    """Return what Chrome knows the CA by. Raises InputError when the file is no certificate."""
    try:
        return fingerprint(certificate_file.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{certificate_file}:1: not a certificate ({error}); give a CA's as PEM") from None


def report(outcome: Outcome, options: argparse.Namespace) -> int:
    """Print the verdict on each page and what has become of the recording; return the exit status."""
    for page, verdict in outcome.verdicts:
        print("\n".join(["", *verdict.lines(page.url)]))
    print()
    if outcome.published:
        print(f"recorded: {options.dir / options.name}/ and {options.dir / options.name}.fetchlog/")
    failed = outcome.failed()
    if outcome.kept:
        print(f"the recording that was there is kept as {options.dir / outcome.kept}/, since not every page came")
    if failed:
        print(f"not recorded: {', '.join(page.url for page in failed)}; try again with: ./fetch.py --append --name "
              f"{options.name}", file=sys.stderr)
    return 1 if failed else 0


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="myURLS", help="pages to record: NAME.pages (myURLS)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where NAME.pages is, and results go (the project)")
    parser.add_argument("--check", action="store_true", help="only check NAME.pages by the course's rules")
    parser.add_argument("--append", action="store_true", help="record only the pages that are not recorded yet")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a page may take to its load event (60)")
    parser.add_argument("--quiet", type=float, default=2, help="seconds of silence that end a visit (2)")
    parser.add_argument("--quiet-limit", type=float, default=30, help="longest wait for it after the load event (30)")
    parser.add_argument("--scroll-steps", type=int, default=50, help="most windows' heights to scroll down (50)")
    parser.add_argument("--command-limit", type=float, default=20,
                        help="seconds that a page's scripts may keep Chrome from answering (20)")
    parser.add_argument("--refetch-limit", type=float, default=15,
                        help="seconds for fetching again what Chrome gave up half way; 0: do not (15)")
    parser.add_argument("--user-agent", default="", help="what to say we are (what Chrome says when not headless)")
    parser.add_argument("--remap", type=Path, help="record from these hosts only: file of hostname ip port [https]")
    parser.add_argument("--ca", type=Path, help="certificate (PEM) of the CA whose certificates are good there")
    return parser.parse_args()


if __name__ == "__main__":
    run_interruptible(main)
