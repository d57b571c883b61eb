"""NAME.pages from a source, where there is none."""

from pathlib import Path

from harness.errors import InputError, printable
from harness.record.sources.source import Source


def list_pages(list_file: Path, source: Source) -> None:
    """Write the source's own pages into `list_file` unless it is there, and say so.

    Raises InputError when the source does not say which of its answers are pages.
    """
    if list_file.exists():
        return
    urls = [url for url in source.pages if url.startswith(("http://", "https://"))]
    if not urls:
        documents = ", ".join(source.documents())
        raise InputError(f"{list_file}:1: no such file, and {source.name} does not say what its pages are; "
                         f"make it with one URL per line{f', such as {documents}' if documents else ''}")
    list_file.write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    print(f"{list_file.name}: written from the list of pages in {printable(source.name)}: {len(urls)}")
