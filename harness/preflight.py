"""Everything that can be wrong is found before anything is touched, each thing in one line with what mends it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.browser import Browser, find_browser, require_shim
from harness.errors import InputError
from harness.fastopen import kernel_has_fastopen
from harness.mirror import split_url
from harness.pages import Page, read_pages
from harness.recording import Recording, read_recording

PROGRAMS = {"mnexec": "mininet", "brctl": "bridge-utils", "ip": "iproute2", "tc": "iproute2", "iptables": "iptables",
            "ethtool": "ethtool", "unshare": "util-linux", "ifconfig": "net-tools"}
"""Programs the network is made with, and the distribution packages they come in."""

ROOM_MB = 100
"""For Chrome's profile and net-log: 11 MB on the paper's pages, more on today's. On a full disk Chrome does not start,
and selenium takes a minute to say so."""


@dataclass(frozen=True)
class Files:
    """What ``--name NAME`` stands for in directory `base`."""

    base: Path
    name: str

    @property
    def pages(self) -> Path:
        """The list of pages."""
        return self.base / f"{self.name}.pages"

    @property
    def mirror(self) -> Path:
        """The recorded bodies."""
        return self.base / self.name

    @property
    def fetchlog(self) -> Path:
        """The recorded heads."""
        return self.base / f"{self.name}.fetchlog"


def check_programs(*, pcap: bool = False) -> None:
    """Raise InputError when a program (`pcap`: tcpdump, too) or TFO itself is missing on this machine."""
    needed = PROGRAMS | ({"tcpdump": "tcpdump"} if pcap else {})
    missing = sorted({package for program, package in needed.items() if not shutil.which(program)})
    if missing:
        raise InputError(f"not installed: {', '.join(missing)}; run: sudo ./scripts/setup.sh")
    if not kernel_has_fastopen():
        raise InputError("/proc/sys/net/ipv4/tcp_fastopen: this kernel has no TCP Fast Open; use Linux 4.15 or newer")


def check_browser() -> Browser:
    """Return the browser to use. Raises InputError when it, its driver or the shim is missing."""
    require_shim()
    return find_browser()


def check_room(directory: Path) -> None:
    """Raise InputError when Chrome's temporary files have no room in `directory`."""
    free_mb = shutil.disk_usage(directory).free // 10**6
    if free_mb < ROOM_MB:
        raise InputError(f"{directory}: {free_mb} MB free, and Chrome needs up to {ROOM_MB}; make room there, or set "
                         "TMPDIR to a directory that all may enter")


def check_pages(files: Files) -> tuple[list[Page], Recording]:
    """Return the pages and their recording. Raises InputError when a page cannot be replayed from the mirror."""
    pages = read_pages(files.pages)
    for directory in (files.mirror, files.fetchlog):
        if not directory.is_dir():
            raise InputError(f"{directory}: no recording of the pages in {files.pages.name}; run: {how_to_make(files)}")
    recording = read_recording(files.mirror, files.fetchlog)
    for page in pages:
        if recording.document(page.url) is None:
            raise InputError(f"{files.pages}:{_line_of(files.pages, page)}: the document of {page.url} is not in the "
                             f"mirror {files.mirror.name}/; run: {how_to_make(files)}")
    return pages, recording


def how_to_make(files: Files) -> str:
    """Return the command that makes the mirror."""
    script = "./scripts/make_pages.py" if files.name == "Paper" else "./fetch.py"
    return f"{script} --name {files.name}"


def document_bytes(files: Files, recording: Recording, pages: Sequence[Page]) -> dict[Page, int]:
    """Return the size of each page's document as Chrome shows it, so decoded; redirects are followed."""
    sizes = {}
    for page in pages:
        url = recording.document(page.url) or page.url
        host, target = split_url(url)
        recorded = recording.lookup(host, target.partition("#")[0], url.partition(":")[0].lower())
        if recorded is None or recorded.file is None:
            continue
        if recorded.encoded and recorded.content_bytes:
            sizes[page] = recorded.content_bytes
        else:
            sizes[page] = (files.mirror / host / recorded.file).stat().st_size
    return sizes


def _line_of(path: Path, page: Page) -> int:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return lines.index(page.url) + 1
