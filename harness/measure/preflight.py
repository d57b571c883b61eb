"""Checks before an experiment: whatever is missing or wrong is found before anything is changed.

Each problem is told in one line that says how to mend it.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.browser.binary import CHROMES_OWN, SOCKET_LIMITS, ConnectionLimit, find_once
from harness.browser.program import Browser, find_browser, require_shim
from harness.errors import InputError, MachineError, first_few, many, printable
from harness.files.hosts import Layout
from harness.files.pages import BUNDLED, Page, PageFiles, read_pages
from harness.measure.settings import Settings
from harness.mirror.answers import Recorded
from harness.mirror.importing import import_recording
from harness.mirror.manifest import damage
from harness.mirror.recording import Recording, read_recording
from harness.mirror.servers import make_layout
from harness.replay.authority import AUTHORITY, open_authority

ROOM_MB = 100
"""For Chrome's profile and net-log: 11 MB on the paper's pages, more on today's. On a full disk Chrome does not start,
and selenium takes a minute to say so."""


@dataclass(frozen=True)
class PageSet:
    """The pages of ``--name NAME`` and their recording, ready to be replayed."""

    files: PageFiles
    pages: Sequence[Page]
    recording: Recording

    @property
    def hosts(self) -> list[str]:
        """The names of all recorded hosts."""
        return self.recording.hosts()

    @property
    def secure(self) -> bool:
        """Whether any of them speaks https."""
        return any("https" in self.recording.schemes(host) for host in self.hosts)

    def page(self, part: str) -> Page:
        """Return the first page that has `part` in its URL. Raises InputError when there is none."""
        found = next((page for page in self.pages if part in page.url), None)
        if found is None:
            urls = ", ".join(page.url for page in self.pages)
            raise InputError(f"{self.files.pages}: no page with {part!r} in its URL; it has {urls}")
        return found


@dataclass(frozen=True, kw_only=True)
class ReplayedWeb:
    """Which pages are loaded, and how they are served and loaded; for `think_rtts_ms` see harness.measure.rtts."""

    page_set: PageSet
    settings: Settings = field(default_factory=Settings)
    think_rtts_ms: Mapping[str, float] | None = None

    @cached_property
    def layout(self) -> Layout:
        """Which of the hosts share a server. Raises InputError."""
        return make_layout(self.settings.layout, self.page_set.recording)

    @property
    def servers(self) -> dict[str, list[str]]:
        """The servers, each with the hosts that it answers for. Raises InputError."""
        return self.layout.servers(self.page_set.hosts)


def check_browser(per_host: int = CHROMES_OWN) -> Browser:
    """Return the browser to use, which is to open `per_host` connections to a host.

    Raises InputError when it, its driver or the shim is missing, or when it cannot.
    """
    require_shim()
    browser = find_browser()
    check_connection_limit(browser, per_host)
    return browser


def check_connection_limit(browser: Browser, per_host: int) -> ConnectionLimit | None:
    """Return how Chrome is made to open `per_host` connections to a host, None when it opens so many anyway.

    Raises InputError when this Chrome's number cannot be changed.
    """
    if per_host == CHROMES_OWN:
        return None
    place = find_once(browser.binary, SOCKET_LIMITS)
    if place is None:
        raise InputError(f"--connections-per-host {per_host}: {browser.binary} has its limits elsewhere than Chromium "
                         f"156, and opens {CHROMES_OWN}; leave the option out")
    return ConnectionLimit(per_host, place)


def check_room(directory: Path) -> None:
    """Raise MachineError when Chrome's temporary files have no room in `directory`."""
    free_mb = shutil.disk_usage(directory).free // 10**6
    if free_mb < ROOM_MB:
        raise MachineError(f"{directory}: {free_mb} MB free, and Chrome needs up to {ROOM_MB}; make room there, or run "
                           "it with TMPDIR=/another/folder (behind sudo), one that all may enter")


def check_pages(files: PageFiles) -> PageSet:
    """Return the pages with their recording.

    Raises InputError when a page cannot be replayed from the mirror, or when the mirror's bodies are not as recorded.
    """
    pages = read_pages(files.pages)
    for directory in (files.mirror, files.fetchlog):
        if not directory.is_dir():
            raise InputError(f"{directory}: no recording of the pages in {files.pages.name}; run: {how_to_make(files)}")
    recording = read_recording(files.mirror, files.fetchlog)
    if damaged := damage(recording.bodies, files.mirror):
        raise InputError(f"{damaged}; record it again: {how_to_make(files)}")
    # An empty document is none, and would load in no time: 2013's scraper wrote one of a site that redirected to https.
    if lacking := [page for page in pages if not any(document_bytes(files, recording, page))]:
        raise InputError(f"{files.pages}:{lacking[0].line}: not in the mirror {files.mirror.name}/, or empty: the "
                         f"documents of {', '.join(page.url for page in lacking)}; run: {how_to_make(files)}, or take "
                         "these lines out")
    say_imported(files)
    if without := [answer.url for answer in recording.each if answer.lacks_body]:
        print(printable(f"{files.mirror.name}/ lacks the bodies of {many(len(without), 'answer')} in its logs; these "
                        f"are 404 (not found): {first_few(without)}"), file=sys.stderr)
    return PageSet(files, pages, recording)


def say_imported(files: PageFiles) -> None:
    """Bring a recording of 2013's format into today's, and say so; where it cannot be written it stays as it is."""
    try:
        done = import_recording(files)
    except OSError as error:
        done = f"{files.fetchlog}: is of 2013's format, and stays so ({error.strerror}): it is read anew each time"
    if done:
        print(printable(done))


def check_authority(page_set: PageSet, directory: Path = AUTHORITY) -> None:
    """Raise InputError when https is to be served and the authority in `directory`, if one is there, cannot be used."""
    if page_set.secure and os.path.lexists(directory):
        open_authority(directory)


def check_transports(settings: Settings, page_set: PageSet) -> None:
    """Raise InputError when early data or QUIC is asked for, and no page was recorded over https."""
    if settings.warm_pairs and not page_set.secure:
        raise InputError(f"{page_set.files.pages}:1: none of it was recorded over https, and early data and QUIC need "
                         "TLS; record other pages, or make some: ./scripts/make_pages.py --https")


def how_to_make(files: PageFiles) -> str:
    """Return the command that makes the mirror."""
    script = "./scripts/make_pages.py" if files.name == BUNDLED else "./fetch.py"
    return f"{script} --name {files.name}"


def document_bytes(files: PageFiles, recording: Recording, page: Page) -> list[int]:
    """Return the sizes that the page's document may have as Chrome shows it, so decoded; redirects are followed."""
    return [*dict.fromkeys(_shown_bytes(files, answer) for answer in recording.documents(page.url)[1])]


def _shown_bytes(files: PageFiles, answer: Recorded) -> int:
    if answer.answer.header("content-encoding") and answer.answer.content_bytes > 0:
        return answer.answer.content_bytes
    return (files.mirror / str(answer.file)).stat().st_size
