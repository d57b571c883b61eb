"""Where pages come from that others recorded: a file that is read first, or an archive that is asked meanwhile."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

from msgspec.structs import replace

from harness.errors import InputError, first_few, printable
from harness.files.exchange import Body, Exchange, place_of
from harness.files.headers import BODILESS
from harness.files.pages import PageFiles, read_pages
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


@contextmanager
def source_file(path: Path, list_file: Path) -> Iterator[tuple[Brought, ServedSource | None]]:
    """Give what a file has and, unless that is only figures, its servers, while the context lasts.

    The pages to be recorded are those in `list_file`, which is made of those that the file names if there is none.
    Raises InputError when either cannot be read.
    """
    wanted = [page.url for page in read_pages(list_file)] if list_file.exists() else None
    with temporary_directory() as directory:
        brought = bring(path, wanted, directory)
        if brought.figures is not None:
            yield brought, None
            return
        if wanted is None:
            list_pages(list_file, brought)
        files = PageFiles(directory, NAME)
        files.mirror.mkdir(exist_ok=True)
        recording = read_recording(files.mirror, files.fetchlog) if any(files.mirror.iterdir()) else Recording()
        with ServedSource(brought, recording, files.mirror, directory) as served:
            yield brought, served


@contextmanager
def web_archive(archive: WebArchive) -> Iterator[ServedSource]:
    """Give the servers that ask a web archive for whatever Chrome asks them for, while the context lasts."""
    with temporary_directory() as directory:
        brought = Brought(archive.name)
        brought.missing = archive.missing
        mirror = directory / NAME
        (mirror / CAPTURES).mkdir(parents=True)
        answers: dict[str, Recorded] = {}
        lock = threading.Lock()

        def find(method: str, url: str) -> Recorded | None:
            if (found := archive.find(method, url)) is None:
                return None
            with lock:
                if url not in answers:
                    answers[url] = _kept(found, brought, mirror)
                return answers[url]

        with ServedSource(brought, Recording(), mirror, directory, find, archive=archive) as served:
            yield served


def _kept(found: Exchange, brought: Brought, mirror: Path) -> Recorded:
    """Return a capture as an answer of a recording whose body is in the folder CAPTURES of `mirror`."""
    answer, content, body = found.answer, found.answer.content or b"", None
    brought.exchanges.append(replace(found, answer=replace(answer, content=None)))
    if not answer.redirect_url and answer.status not in BODILESS:
        body = Body(f"{CAPTURES}/{len(brought.exchanges)}")
        (mirror / body.file).write_bytes(content)
    numbered = ((NUMBER, str(len(brought.exchanges))), *(answer.headers or ()))
    kept = replace(answer, headers=numbered, body=body, content=None, content_bytes=len(content))
    return recorded(replace(found, answer=kept), place_of(found.request.url), inf)


def list_pages(list_file: Path, source: Brought) -> None:
    """Write the source's own pages into `list_file`, which is not there, and say so.

    Raises InputError when the source does not say which of its answers are pages, or none of them can be recorded.
    """
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
