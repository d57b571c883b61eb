#!/usr/bin/env python3
"""Record the pages of NAME.pages into NAME/ (bodies) and NAME.fetchlog/ (logs), for tfo.py to replay.

    myURLS.pages --> Chrome visits each page as a person would --> myURLS/           every body as it came over the wire
                                                                   myURLS.fetchlog/  PAGE, PAGE.har, manifest.json

    ./fetch.py --from site.wacz      the same from what others recorded: a .har, .warc or .wacz
    ./fetch.py --from Paper2013      bring a recording of 2013's format into today's
    ./fetch.py --as-of 2013-03-12    the same from a web archive, as the pages were on that day
    ./fetch.py --to site.wacz        the reverse: the recording as a .wacz, .warc.gz, .warc or .har

Needs no root. An older recording is replaced once the new one is complete.
"""

import argparse
import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.browser import program
from harness.course.page_rules import rule_breaches
from harness.errors import InputError, first_few, printable
from harness.files.hosts import read_hack_dns, resolver_rules
from harness.files.pages import Page, PageFiles, read_pages
from harness.measure.loopback import Trial, try_pages
from harness.measure.preflight import PageSet
from harness.measure.settings import Settings
from harness.mirror.importing import import_recording
from harness.mirror.recording import read_whole
from harness.record.export import ENDINGS, export
from harness.record.recorder import (
    RecordingOutcome,
    record,
    remove_older,
    require_recordable,
    to_append,
)
from harness.record.sources.reader import KINDS
from harness.record.sources.served import ServedSource, source_file, web_archive
from harness.record.sources.wayback import INTERNET_ARCHIVE, WebArchive
from harness.record.visit import VisitSettings
from harness.replay.authority import fingerprint
from harness.system.atomic import write_atomically
from harness.system.options import TIMEOUT_S, OptionParser, day, page_list_name, web_address
from harness.system.privileges import leave_root
from harness.system.progress import Steps
from harness.system.signals import run_interruptible
from harness.system.untrusted import UnreadableFileError, read_untrusted

ARCHIVE_TIMEOUT_S = 300.0
"""A web archive takes longer than the sites themselves."""


def main() -> int:
    """Check or record; exit status 1 when a page could not be recorded, 2 for wrong input."""
    options = parse_arguments()
    leave_root()
    list_file = PageFiles(options.dir, options.name).pages
    if options.check:
        return check(list_file)
    if not options.dir.is_dir():
        raise InputError(f"{options.dir}: no such folder; make it, or give another --dir")
    if options.to:
        print(export(options.dir, options.name, read_pages(list_file), options.to))
        return 0
    if not os.access(options.dir, os.W_OK | os.X_OK):
        raise InputError(f"{options.dir}: cannot be written by you; give a --dir of yours")
    if options.verdict and (options.verdict.is_dir() or not os.access(options.verdict.parent, os.W_OK | os.X_OK)):
        raise InputError(f"{options.verdict}: cannot be written by you; give another --verdict")
    source: contextlib.AbstractContextManager[ServedSource | None] = contextlib.nullcontext()
    if options.source:
        older = PageFiles(options.dir, str(options.source))
        if "/" not in older.name and older.mirror.is_dir() and older.fetchlog.is_dir():
            print(import_recording(older) or f"{older.name} is in today's format already")
            return 0
        source = source_file(options.source, list_file)
    elif options.as_of:
        source = web_archive(WebArchive(options.as_of, options.archive))
    with source as served:
        return record_pages(options, list_file, served)


def record_pages(options: argparse.Namespace, list_file: Path, source: ServedSource | None) -> int:
    """Record the list's pages from `source` or, without one, from the Internet; return the exit status."""
    pages = read_pages(list_file)
    require_recordable(list_file, pages)
    wanted = to_append(options.dir, options.name, pages) if options.append else pages
    if not wanted:
        print(f"{options.name}: every page of {list_file.name} is recorded already")
        return 0
    settings, files = visit_settings(options, source), PageFiles(options.dir, options.name)
    note = (f"brought from {source.brought.name}; times unknown" if source else
            "recorded from a remapped internet" if options.remap else "")
    with Steps(len(wanted), "pages") as progress:
        outcome = record(files, wanted, settings, progress.done, append=options.append and files.fetchlog.exists(),
                         note=note, source=source)
    return report(outcome, options)


def check(list_file: Path) -> int:
    """Print every breach of the course's rules; the exit status is 2 when there is one."""
    breaches = rule_breaches(list_file)
    for breach in breaches:
        print(printable(breach), file=sys.stderr)
    if not breaches:
        print(f"{list_file.name}: {len(read_pages(list_file))} pages, all by the rules")
    return 2 if breaches else 0


def visit_settings(options: argparse.Namespace, source: ServedSource | None) -> VisitSettings:
    """Return how each page is visited. Raises InputError for a wrong --remap or --ca, or when there is no Chrome."""
    remaps = read_hack_dns(options.remap) if options.remap else []
    if options.remap and not remaps:
        raise InputError(f"{options.remap}:1: no hosts; write: hostname ip port [https]")
    key = trusted_key(options.ca) if options.ca else None
    return VisitSettings(
        url="", browser=program.find_browser(),
        rules=resolver_rules(remaps) if remaps else None,
        trusted_key=source.trusted_key if source else key, shim=program.require_shim() if source else None,
        load_timeout_s=options.timeout or (ARCHIVE_TIMEOUT_S if options.as_of else VisitSettings.load_timeout_s),
        quiet_s=options.quiet, quiet_limit_s=options.quiet_limit)


def trusted_key(certificate_file: Path) -> str:
    """Return what Chrome knows the CA by. Raises InputError when the file is no certificate."""
    try:
        return fingerprint(read_untrusted(certificate_file.resolve()))
    except (UnreadableFileError, OSError, ValueError, RuntimeError) as error:       # RuntimeError: links in a circle
        raise InputError(f"{certificate_file}:1: not a certificate ({error}); give a CA's as PEM") from None


def try_recording(outcome: RecordingOutcome, options: argparse.Namespace) -> list[Page]:
    """Load each recorded page from its recording, add what came of that to its verdict, return those unfit."""
    recorded = [page for page, verdict in outcome.verdicts if verdict.fit]
    if not outcome.published or not options.trial:
        return []
    files = PageFiles(options.dir, options.name)
    page_set = PageSet(files, recorded, read_whole(files))
    tried = try_pages(page_set, Settings(http="recorded", timeout_s=options.timeout or Settings.timeout_s))
    for page, verdict in outcome.verdicts:
        trial = tried.get(page, Trial())
        verdict.reasons += [f"its replay is not the page: {reason}" for reason in trial.unfit]
        if trial.failed:
            verdict.remarks.append(f"whether its replay is the page is not known: {trial.failed}")
        if trial.coverage and trial.coverage.lost and not trial.unfit:
            cover = trial.coverage
            verdict.remarks.append(f"its replay got {cover.got} of the {cover.recorded} answers that the page got "
                                   f"up to its load event, without {first_few(cover.lost)}")
    return [page for page in recorded if tried[page].unfit]


def report(outcome: RecordingOutcome, options: argparse.Namespace) -> int:
    """Print the verdict on each page and what has become of the recording; return the exit status."""
    failed = outcome.failed()
    unfit = try_recording(outcome, options)
    remove_older(outcome, options.dir)
    if options.verdict:
        write_atomically(options.verdict, json.dumps([{"url": page.url, **asdict(verdict)}
                                                      for page, verdict in outcome.verdicts], indent=1) + "\n")
    for page, verdict in outcome.verdicts:
        print("\n".join(["", *map(printable, verdict.lines(page.url))]))
    print()
    files = PageFiles(options.dir, options.name)
    if outcome.published:
        print(f"recorded: {files.mirror}/ and {files.fetchlog}/")
    if outcome.kept:
        print(f"the recording that was there is kept as {options.dir / outcome.kept}/, since not every page "
              f"{'came' if failed else 'is fit now'}")
    if failed:
        print(f"not recorded: {', '.join(page.url for page in failed)}; {how_to_mend(options)}", file=sys.stderr)
    if unfit:
        print(f"recorded, but not fit to be measured: {', '.join(page.url for page in unfit)}; take them out of "
              f"{files.pages.name}", file=sys.stderr)
    return 1 if failed or unfit else 0


def how_to_mend(options: argparse.Namespace) -> str:
    """Say what to do about pages that were not recorded."""
    if options.source:
        return (f"take them out of {options.name}.pages, or record them again where {printable(options.source.name)} "
                "was made (with the browser's cache off, and with the bodies of all answers)")
    return f"try again with: ./fetch.py --append --name {options.name}"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", type=page_list_name, default="myURLS", help="pages to record: NAME.pages (myURLS)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where NAME.pages is, and results go (the project)")
    parser.add_argument("--check", action="store_true", help="only check NAME.pages by the course's rules")
    parser.add_argument("--append", action="store_true", help="record only the pages that are not recorded yet")
    origin = parser.add_mutually_exclusive_group()
    origin.add_argument("--from", dest="source", type=Path, metavar="SOURCE",
                        help=f"what others recorded: {KINDS}; or the NAME of a recording of 2013's format")
    origin.add_argument("--as-of", type=day, metavar="DATE",
                        help="record from a web archive, as the pages were on this day (2013-03-12)")
    origin.add_argument("--to", type=Path, metavar="FILE",
                        help=f"write the recording into a file that others can open: {', '.join(ENDINGS)}")
    parser.add_argument("--archive", type=web_address, default=INTERNET_ARCHIVE, metavar="URL",
                        help="which web archive (%(default)s)")
    parser.add_argument("--timeout", type=TIMEOUT_S,
                        help=f"seconds a page may take to its load event ({VisitSettings.load_timeout_s:g}; "
                             f"{ARCHIVE_TIMEOUT_S:g} from a web archive)")
    parser.add_argument("--quiet", type=TIMEOUT_S, default=VisitSettings.quiet_s,
                        help="seconds of silence that end a visit (%(default)g)")
    parser.add_argument("--quiet-limit", type=TIMEOUT_S, default=VisitSettings.quiet_limit_s,
                        help="longest wait for that silence after the load event (%(default)g)")
    parser.add_argument("--no-trial", dest="trial", action="store_false",
                        help="do not load each page from its recording at the end")
    parser.add_argument("--verdict", type=Path, metavar="FILE", help="write the verdict on each page as JSON, too: "
                        "a page without reasons is fit")
    parser.add_argument("--remap", type=Path, help="record from these hosts only: file of hostname ip port [https]")
    parser.add_argument("--ca", type=Path, help="certificate (PEM) of the CA that these hosts' certificates come from")
    return parser.parse_args()


if __name__ == "__main__":
    run_interruptible(main)
