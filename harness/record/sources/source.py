"""Where pages come from that others recorded: a file that is read first, or an archive that is asked meanwhile."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

from msgspec.structs import replace

from harness.errors import InputError, first_few, printable
from harness.files.exchange import Body, Exchange, place_of
from harness.files.headers import BODILESS
from harness.files.pages import PageFiles
from harness.mirror.answers import Recorded, recorded
from harness.mirror.recording import Recording, read_recording
from harness.record.sources.brought import NUMBER, Brought
from harness.record.sources.reader import bring, recordable
from harness.record.sources.served import ServedSource
from harness.record.sources.temporary import NAME
from harness.record.sources.wayback import WebArchive
from harness.system.scratch import temporary_directory

CAPTURES = "captures"
"""The folder of all bodies that an archive gives."""


class Source:
    """A source that is served: what it has (`brought`), and the servers that answer from it."""

    def __init__(self, brought: Brought, served: ServedSource, archive: WebArchive | None = None) -> None:
        self.brought, self.served, self._archive = brought, served, archive

    def begin_page(self, name: str) -> None:
        """Say that the page of this name is loaded now."""
        self.served.begin_page(name)
        if self._archive is not None:
            self._archive.begin_page()

    def complaints(self) -> list[str]:
        """Return why not everything could be asked for since the last call, one line each; what was not is unknown."""
        return self._archive.complaints() if self._archive is not None else []


@contextmanager
def source_file(path: Path, wanted: Sequence[str] | None,
                list_pages: Callable[[Brought], None]) -> Iterator[tuple[Brought, Source | None]]:
    """Give what a file has and, unless that is only figures, its servers, while the context lasts.

    `wanted` are the URLs of the pages that are to be recorded, None for those that `list_pages` then makes of what the
    file names. Raises InputError when it cannot be read.
    """
    with temporary_directory() as directory:
        brought = bring(path, wanted, directory)
        if brought.figures is not None:
            yield brought, None
            return
        if wanted is None:
            list_pages(brought)
        files = PageFiles(directory, NAME)
        files.mirror.mkdir(exist_ok=True)
        recording = read_recording(files.mirror, files.fetchlog) if any(files.mirror.iterdir()) else Recording()
        with ServedSource(recording, files.mirror, directory) as served:
            yield brought, Source(brought, served)


@contextmanager
def web_archive(archive: WebArchive) -> Iterator[Source]:
    """Give the servers that ask a web archive for whatever Chrome asks them for, while the context lasts."""
    with temporary_directory() as directory:
        brought = Brought(archive.name)
        brought.missing = archive.missing
        mirror = directory / NAME
        (mirror / CAPTURES).mkdir(parents=True)
        asked = _Asked(archive, brought, mirror / CAPTURES)
        with ServedSource(Recording(), mirror, directory, asked.find) as served:
            yield Source(brought, served, archive)


class _Asked:
    """Captures, as answers of a recording whose bodies are in `folder`."""

    def __init__(self, archive: WebArchive, brought: Brought, folder: Path) -> None:
        self._archive, self._brought, self._folder = archive, brought, folder
        self._answers: dict[str, Recorded] = {}
        self._lock = threading.Lock()

    def find(self, method: str, url: str) -> Recorded | None:
        """Return the capture of a URL."""
        found = self._archive.find(method, url)
        if found is None:
            return None
        with self._lock:
            if url not in self._answers:
                self._answers[url] = self._kept(found)
            return self._answers[url]

    def _kept(self, found: Exchange) -> Recorded:
        url, answer, content = found.request.url, found.answer, found.answer.content or b""
        self._brought.exchanges.append(replace(found, answer=replace(answer, content=None)))
        body = None
        if not answer.redirect_url and answer.status not in BODILESS:
            body = Body(f"{CAPTURES}/{len(self._brought.exchanges)}")
            (self._folder.parent / body.file).write_bytes(content)
        numbered = ((NUMBER, str(len(self._brought.exchanges))), *(answer.headers or ()))
        kept = replace(answer, headers=numbered, body=body, content=None, content_bytes=len(content))
        return recorded(replace(found, answer=kept), place_of(url), inf)


def list_pages(list_file: Path, source: Brought) -> None:
    """Write the source's own pages into `list_file` unless it is there, and say so.

    Raises InputError when the source does not say which of its answers are pages, or none of them can be recorded.
    """
    if list_file.exists():
        return
    pages = [url for url in source.pages if url.startswith(("http://", "https://"))]
    urls = recordable(pages)
    if pages and not urls:
        raise InputError(f"{list_file}:1: no such file, and no page that {source.name} names can be recorded: "
                         f"{_why_left_out(pages)}; make it with others")
    if not urls:
        documents = ", ".join(recordable(source.documents))
        raise InputError(f"{list_file}:1: no such file, and {source.name} does not say what its pages are; "
                         f"make it with one URL per line{f', such as {documents}' if documents else ''}")
    list_file.write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    print(f"{list_file.name}: written from the list of pages in {printable(source.name)}: {len(urls)}")
    say_left_out([url for url in pages if url not in urls])


def say_left_out(urls: Sequence[str]) -> None:
    """Say which pages of a source are in no list."""
    if urls:
        print(f"left out: {_why_left_out(urls)}")


def _why_left_out(urls: Sequence[str]) -> str:
    return f"their URLs give no file's name of their own, or name another port than 80 and 443 ({first_few(urls)})"
