"""NAME.pages from a source, where there is none."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InputError, first_few, printable
from harness.record.sources.brought import Brought
from harness.record.sources.reader import recordable


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
