"""A site's own recording, in a folder of its own: cut out of the list's recording, or made by fetch.py.

A recording of several pages holds the hosts of all of them. A unit has one page: hosts that only other pages' logs name
are left out. Hosts that are in no log are kept, since recordings of 2013 have files that only today's Chrome asks for.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bootstrap import ROOT
from harness.errors import NO_FAULT_OF_OURS, ExitStatus, InputError, printable
from harness.files.pages import Page, PageFiles, read_pages, sanitise
from harness.measure.resume import recording_digest
from harness.mirror.importing import complete
from harness.mirror.manifest import MANIFEST, damage
from harness.mirror.paths import list_files
from harness.mirror.recording import Recording, read_recording
from harness.mirror.servers import read_rtts, write_rtts
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import PARTS, SITE, Contents, last_line, read_files
from harness.sweep.plan import LONGEST_WHY, Unit, Versions
from harness.system.processes import bound_to_us, stop
from harness.system.untrusted import UnreadableFileError, read_untrusted_json, read_untrusted_text

FETCH_S = 900.0
"""How long the recording of one page may take; fetch.py bounds its own steps."""
FAILED = "failed.json"
"""Stands in the folder of a page that has no recording, with the reason."""


@dataclass(frozen=True)
class SiteRecording:
    """A site's recording with its digest, or why there is none; `tried`: whether anybody tried to record it."""

    page: Page
    digest: str = ""
    why_not: str = ""
    tried: bool = True


def files_of(sweep: SweepFolder, unit: Unit) -> Contents:
    """Return the recording of a unit's page as it travels. Raises ExperimentError when it is too large."""
    return read_files(sweep.recordings / sanitise(unit.url), PARTS)


def recorded(sweep: SweepFolder, page: Page) -> SiteRecording:
    """Return what the sweep has already: a page's recording, why there is none, or that it was not tried yet.

    Two URLs may have one file name (/a/b and /ab): what is there of one that the list named before is not this page's.
    """
    folder = sweep.recordings / page.name
    try:
        failed = read_untrusted_json(folder / FAILED) if (folder / FAILED).exists() else None
        of = failed["url"] if failed else read_untrusted_text(PageFiles(folder, SITE).pages).strip()
        why_not = str(failed["why"]) if failed else ""
    except (UnreadableFileError, KeyError, TypeError):
        of, why_not = "", ""
    if of != page.url:
        return SiteRecording(page, why_not="not recorded yet", tried=False)
    return SiteRecording(page, "" if failed else recording_digest(PageFiles(folder, SITE)), why_not)


def record_site(sweep: SweepFolder, page: Page, source: PageFiles | None) -> SiteRecording:
    """Cut a page's recording out of `source` or, without a source, record it from the Internet; in one step."""
    with sweep.staging(sweep.recordings) as staging:
        made = staging / "site"
        made.mkdir()
        PageFiles(made, SITE).pages.write_text(f"{page.url}\n", encoding="utf-8")
        try:
            if source:
                cut(source, page, PageFiles(made, SITE))
            else:
                fetch(made)
        except (InputError, OSError) as error:
            if isinstance(error, OSError) and error.errno in NO_FAULT_OF_OURS:
                raise
            why = str(error) if isinstance(error, InputError) else f"cannot be recorded ({error})"
            made = staging / "failed"
            made.mkdir()
            (made / FAILED).write_text(json.dumps({"format": 1, "url": page.url, "why": why[:LONGEST_WHY]}))
        shutil.rmtree(sweep.recordings / page.name, ignore_errors=True)
        made.rename(sweep.recordings / page.name)
    return recorded(sweep, page)


def cut(source: PageFiles, page: Page, target: PageFiles) -> None:
    """Copy one page's logs, hosts and RTTs out of a recording. Raises InputError or OSError where it cannot."""
    target.fetchlog.mkdir()
    target.mirror.mkdir()
    for name in (page.name, f"{page.name}.har", MANIFEST):
        if (source.fetchlog / name).is_file():
            shutil.copyfile(source.fetchlog / name, target.fetchlog / name, follow_symlinks=False)
    whole, own = (read_recording(source.mirror, fetchlog) for fetchlog in (source.fetchlog, target.fetchlog))
    rtts_ms = read_rtts(source.rtts) if source.rtts.exists() else {}
    of_others = _hosts(whole) - _hosts(own)
    bodies = {name: body for name, body in own.bodies.items() if name.partition("/")[0] not in of_others}
    if damaged := damage(bodies, source.mirror):
        raise InputError(f"{damaged}; record it again")
    for host in sorted({*whole.files} - of_others):
        shutil.copytree(source.mirror / host, target.mirror / host, ignore=_links)
    if own.manifest.bodies:         # it lists no others than those in this copy
        complete(target.fetchlog, target.mirror, own.manifest.source, own.manifest.content)
    write_rtts(target.rtts, {host: rtt_ms for host, (_, rtt_ms) in rtts_ms.items() if host not in of_others},
               "the recording it was cut out of")
    if not own.document(page.url):
        raise InputError(f"{source.mirror.name}/ has no document of this page")


def _hosts(recording: Recording) -> set[str]:
    """Return the hosts that are named in its logs, or whose folders have bodies of these."""
    answers = [answer for answer in recording.each if answer.page]
    lenders = {answer.file.partition("/")[0] for answer in answers if answer.file}
    return lenders | {answer.place.host for answer in answers} | {host for _, host in recording.live}


def _links(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_symlink()]


def fetch(folder: Path) -> None:
    """Record ``site.pages`` of `folder` by fetch.py. Raises InputError when there is no recording to measure."""
    log_path, verdict = folder / "fetch.log", folder / "verdict.json"
    command = [sys.executable, str(ROOT / "fetch.py"), "--dir", str(folder), "--name", SITE, "--verdict", str(verdict)]
    with log_path.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(bound_to_us(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
        try:
            status = process.wait(FETCH_S)
        except subprocess.TimeoutExpired:
            raise InputError(f"cannot be recorded: fetch.py did not end within {FETCH_S:g} s") from None
        finally:
            stop(process)
    if status != ExitStatus.DONE:
        # Without a verdict fetch.py could not begin, and says why in a line.
        reasons = read_untrusted_json(verdict)[0]["reasons"] if verdict.exists() else []
        raise InputError(f"cannot be recorded: {reasons[0] if reasons else last_line(log_path)}")


def record_missing(sweep: SweepFolder, listed: Path) -> list[SiteRecording]:
    """Return the recording of every page of a list, or why it has none; record those not tried yet, and say so.

    Pages that stand in the list's own recording, ``NAME/`` beside ``NAME.pages``, are cut out of it.
    """
    pages, own, found = read_pages(listed), PageFiles(listed.parent, listed.stem), []
    logs = list_files(own.fetchlog) if own.mirror.is_dir() else ()
    for number, page in enumerate(pages, start=1):
        done = recorded(sweep, page)
        if not done.tried:
            source = own if page.name in logs else None
            done = record_site(sweep, page, source)
            how = done.why_not or (f"cut out of {source.name}" if source else "recorded")
            print(printable(f"[{number:3}/{len(pages)}] {page.url}: {how}"), flush=True)
        found.append(done)
    return found


def planned(sites: Sequence[SiteRecording], combinations: Sequence[tuple[str, ...]], versions: Versions) -> list[Unit]:
    """Return the units: each recorded site under each combination of options."""
    return [Unit(site.page.url, site.digest, options, versions)
            for options in combinations for site in sites if not site.why_not]
