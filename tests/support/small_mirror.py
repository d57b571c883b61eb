"""A small mirror for tests that make a real star: a few files on a few hosts, and the logs that go with them."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from harness.files.pages import sanitise
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.files.urls import split_url
from harness.mirror.paths import write_file

ICON = '<link rel="icon" href="data:,">'


@dataclass
class SmallMirror:
    """What is written to `directory`: `name`.pages, `name`/ and `name`.fetchlog/."""

    directory: Path
    name: str = "small"
    responses: list[Response] = field(default_factory=list)

    def add(self, url: str, body: bytes | str, mime_type: str = "text/html") -> None:
        """Put one file into the mirror."""
        write_file(self.directory / self.name, url, body.encode() if isinstance(body, str) else body)
        self.responses.append(Response("OK", mime_type, "utf-8", url, None))

    def finish(self, *pages: str) -> Path:
        """Write the list of pages and each page's log; return the directory.

        To a page belongs what is on its host or below it; the first one has what belongs to none.
        """
        (self.directory / f"{self.name}.pages").write_text("".join(f"{url}\n" for url in pages))
        fetchlog = self.directory / f"{self.name}.fetchlog"
        fetchlog.mkdir()
        hosts = {page: split_url(page)[0] for page in pages}
        owners = [next((page for page, host in hosts.items() if f".{split_url(response.url)[0]}".endswith(f".{host}")),
                       pages[0]) for response in self.responses]
        for page in pages:
            responses = [response for response, owner in zip(self.responses, owners, strict=True) if owner == page]
            log = PageLog([], [Transaction(0, 1, response.url) for response in responses], responses, True)
            (fetchlog / sanitise(page)).write_text(format_log(log))
        manifest = {"format": 2, "source": "synthetic", "seed": 1, "note": "made by a test"}
        (fetchlog / "manifest.json").write_text(json.dumps(manifest))
        return self.directory


def one_document(directory: Path, url: str = "http://one.test/") -> Path:
    """Make a mirror of one page that is one small document."""
    mirror = SmallMirror(directory)
    mirror.add(url, f"<!doctype html><title>one</title>{ICON}<p>One small document.")
    return mirror.finish(url)


def chain_of_hosts(directory: Path, hosts: int, url: str = "http://www.nytimes.com/") -> Path:
    """Make a mirror of a page of nested frames, each on a host of its own, each with a style sheet: a chain."""
    mirror = SmallMirror(directory)
    urls = [url, *(f"http://host{number}.test/" for number in range(1, hosts))]
    for here, inner in zip(urls, [*urls[1:], None], strict=True):
        frame = f'<iframe src="{inner}"></iframe>' if inner else ""
        host, _ = split_url(here)
        mirror.add(here, f'<!doctype html>{ICON}<link rel="stylesheet" href="/s.css"><p>{host}</p>{frame}')
        mirror.add(f"{here}s.css", "p { color: green }", "text/css")
    return mirror.finish(url)
