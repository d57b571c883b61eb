"""Where pages come from that others recorded: a file that is read first, or an archive that is asked meanwhile."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InputError, first_few, printable
from harness.files.pages import read_pages
from harness.record.sources.brought import BODIES, Brought
from harness.record.sources.reader import bring, recordable
from harness.record.sources.served import ServedSource
from harness.record.sources.wayback import WebArchive
from harness.system.scratch import temporary_directory


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
        with ServedSource(brought, directory).serving() as served:
            yield brought, served


@contextmanager
def web_archive(archive: WebArchive) -> Iterator[ServedSource]:
    """Give the servers that ask a web archive for whatever Chrome asks them for, while the context lasts."""
    with temporary_directory() as directory:
        (directory / BODIES).mkdir()
        with ServedSource(Brought(archive.name, missing=archive.missing), directory, archive).serving() as served:
            yield served


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
