"""Recordings that tests write, exchange by exchange: NAME.pages, NAME/ and NAME.fetchlog/, as fetch.py leaves them.

Or as the tool of 2013 did, whose logs are text without headers.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any

from harness.files.pages import sanitise
from harness.files.text_log import PageLog, Response, format_log
from harness.files.urls import split_url
from harness.mirror.paths import mirror_file, write_file
from harness.mirror.recording import Recording, read_recording
from tests.support.noted import cases

HOST = "a.test"
RECORDED = "2026-11-21T09:00:00.000+00:00"
ICON = '<link rel="icon" href="data:,">'
CHAIN = ("http://chain1.test/", *(f"http://chain{number}.test/next.js" for number in range(2, 6)))
"""A page and its scripts, each asked for by the one before, each on the next host: add_chain."""
Headers = Iterable[tuple[str, str]] | Mapping[str, str]


@dataclass
class MadeRecording:
    """What is written to `directory`; `entries` are those of its HARs. Without `har` it is a recording of 2013's."""

    directory: Path
    name: str = "Web"
    har: bool = True
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, url: str, body: bytes | str | None = None, headers: Headers | str = (), *, status: int = 200,
            method: str = "GET", version: str | None = None, size: int | None = None, to: str = "",
            asked: Mapping[str, str] | None = None, post: str = "", page: str = "page",
            request: Mapping[str, Any] | None = None, response: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Record an exchange; a path alone is one of https://a.test, `headers` may be a media type alone.

        `body` is as on the wire, `size` that of it decoded; it stands where its URL puts it, if nothing else does. `to`
        redirects; `asked` and `post` are the request's headers and body; `page` names its log; `request`, `response`
        and what else there is are more of the entry.
        """
        url = url if "://" in url else f"https://{HOST}{url}"
        if body is not None:
            body, (host, path) = body.encode() if isinstance(body, str) else body, split_url(url)
            file = self.mirror / host / mirror_file(path)
            is_taken = file.is_file() and file.read_bytes() != body
            file = write_file(self.mirror, f"http://{host}/{sha256(body).hexdigest()}" if is_taken else url, body)
            more = {"_file": file.relative_to(self.mirror).as_posix(), **more}
        headers = headers.items() if isinstance(headers, Mapping) else headers
        answered = [("Content-Type", headers)] if isinstance(headers, str) else [*headers]
        if version is None:
            version = "h2" if url.startswith("https:") else "HTTP/1.1"
        posted = {"postData": {"mimeType": "application/json", "text": post}} if post else {}
        self.entries.append({
            "pageref": page, "startedDateTime": RECORDED,
            "request": {"method": method, "url": url, "headers": _pairs((asked or {}).items()), **posted,
                        **(request or {})},
            "response": {
                "status": 302 if to and status == 200 else status, "httpVersion": version,
                "headers": _pairs([*answered, *([("Location", to)] if to else [])]),
                "content": {"size": len(body or b"") if size is None else size}, **(response or {})}, **more})

    def add_chain(self, *urls: str) -> None:
        """Record a page and its scripts, each asked for by the one before."""
        for url, following in zip(urls, [*urls[1:], None], strict=True):
            if url == urls[0]:
                self.add(url, f"<!doctype html>{ICON}<body><script src={following}></script>", "text/html")
            else:
                self.add(url, f"var e = document.createElement('script'); e.src = '{following}'; "
                         "document.body.appendChild(e);" if following else "/* the end */", "text/javascript")

    def add_lines(self, name: str) -> None:
        """Record the exchanges in a file of JSON lines in tests: what `add` takes, a body as characters of Latin-1.

        `times`: so often it is repeated; `gzip`: it was sent so.
        """
        for each in cases(name):
            times, gzipped, body = each.pop("times", 1), each.pop("gzip", False), each.pop("body", None)
            if body is not None:
                body = body.encode("latin-1") * times
                each.setdefault("size", len(body))
            self.add(body=gzip.compress(body, mtime=0) if body and gzipped else body, **each)

    def add_files(self, files: Mapping[str, str]) -> None:
        """Put files into the mirror, by host and name."""
        for name, text in files.items():
            (self.mirror / name).parent.mkdir(parents=True, exist_ok=True)
            (self.mirror / name).write_text(text)

    @property
    def mirror(self) -> Path:
        """The folder of the bodies."""
        return self.directory / self.name

    def finish(self, *pages: str) -> Path:
        """Write pages and logs; return the directory.

        To a page belongs what is on its host or below it; the first one has what belongs to none.
        """
        (self.directory / f"{self.name}.pages").write_text("".join(f"{page}\n" for page in pages))
        for entry in self.entries:
            host = split_url(entry["request"]["url"])[0]
            owner = next((page for page in pages if f".{host}".endswith(f".{split_url(page)[0]}")), pages[0])
            entry["pageref"] = sanitise(owner)
        self._write_logs(map(sanitise, pages))
        return self.directory

    def read(self) -> Recording:
        """Write and read it, with a log for each `page`."""
        (self.mirror / HOST).mkdir(parents=True, exist_ok=True)
        self._write_logs(dict.fromkeys(entry["pageref"] for entry in self.entries))
        return read_recording(self.mirror, self.directory / f"{self.name}.fetchlog")

    def _write_logs(self, pages: Iterable[str]) -> None:
        fetchlog = self.directory / f"{self.name}.fetchlog"
        for page in pages:
            entries = [entry for entry in self.entries if entry["pageref"] == page]
            write_text_log(fetchlog / page, [       # beside a HAR it does not count: all of it is wrong
                Response("Not Found", "x/y", "", entry["request"]["url"], None) if self.har else _response(entry)
                for entry in entries if entry["request"]["url"].startswith("http")])
            if self.har:
                (fetchlog / f"{page}.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))


def write_text_log(path: Path, responses: Sequence[Response]) -> None:
    """Write the log of a page in 2013's format."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(format_log(PageLog(responses=[*responses], transactions_seen=True)), encoding="utf-8")


def _response(entry: Mapping[str, Any]) -> Response:
    """Return what a text log has of a HAR's entry."""
    headers = {header["name"]: header["value"] for header in entry["response"]["headers"]}
    return Response(HTTPStatus(entry["response"]["status"]).phrase, headers.get("Content-Type", "text/html"), "utf-8",
                    entry["request"]["url"], headers.get("Location"))


def _pairs(headers: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def text_recording(directory: Path, files: Mapping[str, str], responses: Sequence[Response]) -> Recording:
    """Write and read a recording in 2013's format: `files` by host and name."""
    MadeRecording(directory).add_files(files)
    write_text_log(directory / "Web.fetchlog" / "page", responses)
    return read_recording(directory / "Web", directory / "Web.fetchlog")


def one_document(directory: Path) -> Path:
    """Make a recording of one page that is one small document."""
    made = MadeRecording(directory, "small", har=False)
    made.add("http://one.test/", f"<!doctype html><title>one</title>{ICON}<p>One small document.")
    return made.finish("http://one.test/")


def chain_of_hosts(directory: Path, hosts: int) -> Path:
    """Make a recording of nested frames, each on a host of its own, each with a style sheet: a chain."""
    made = MadeRecording(directory, "small", har=False)
    urls = ["http://www.nytimes.com/", *(f"http://host{number}.test/" for number in range(1, hosts))]
    for here, inner in zip(urls, [*urls[1:], None], strict=True):
        frame = f'<iframe src="{inner}"></iframe>' if inner else ""
        made.add(here, f'<!doctype html>{ICON}<link rel="stylesheet" href="/s.css"><p>{split_url(here)[0]}</p>{frame}')
        made.add(f"{here}s.css", "p { color: green }", "text/css")
    return made.finish(urls[0])


def chain_of_scripts(directory: Path, *urls: str, har: bool = False) -> Path:
    """Make a recording of a page and its scripts, each asked for by the one before."""
    made = MadeRecording(directory, "small", har)
    made.add_chain(*urls)
    return made.finish(urls[0])
