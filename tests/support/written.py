"""A recording over https that a test writes, answer by answer, for what a replay makes of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.files.text_log import PageLog, Response, format_log
from harness.files.urls import split_url
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked
from harness.mirror.paths import write_file
from harness.mirror.recording import Recording, read_recording
from harness.replay.match import Request
from harness.replay.site import Site

HOST = "a.test"


class Written:
    """A recording that a test writes: transactions as HAR entries, in order, one page's or several's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pages: dict[str, list[dict[str, Any]]] = {}

    def add(self, path: str, body: str | None = None, *, status: int = 200, method: str = "GET", to: str = "",
            page: str = "page", asked: dict[str, str] | None = None, post: str = "", host: str = HOST,
            headers: Sequence[tuple[str, str]] = (), **more: Any) -> None:
        """Record that `path`, or a whole URL, answered `body`, or redirected `to`."""
        url = path if "://" in path else f"https://{host}{path}"
        host = split_url(url)[0]
        name = ""
        if body is not None:
            number = sum(map(len, self.pages.values()))
            name = write_file(self.directory / "Web", f"https://{host}/body-{number}", body.encode()).name
        request: dict[str, Any] = {"method": method, "url": url, "headers": _pairs((asked or {}).items())}
        if post:
            request["postData"] = {"mimeType": "application/json", "text": post}
        response_headers = [*headers, *([("Location", to)] if to else [])]
        self.pages.setdefault(page, []).append({
            "startedDateTime": "2026-11-21T09:00:00.000+00:00", "request": request,
            "response": {"status": 302 if to else status, "httpVersion": "h2", "headers": _pairs(response_headers),
                         "content": {"size": len(body or "")}},
            **({"_file": f"{host}/{name}"} if name else {}), **more})

    def read(self) -> Recording:
        """Write and read it."""
        logs = self.directory / "Web.fetchlog"
        logs.mkdir()
        (self.directory / "Web" / HOST).mkdir(parents=True, exist_ok=True)
        for page, entries in self.pages.items():
            (logs / page).write_text(format_log(PageLog(transactions_seen=True)))
            (logs / f"{page}.har").write_text(json.dumps({"log": {"entries": entries}}))
        return read_recording(self.directory / "Web", logs)

    def site(self) -> Site:
        """Return what its host answers over https."""
        return Site(self.read(), HOST, "https")


def text_recording(directory: Path, files: dict[str, str], responses: list[Response]) -> Recording:
    """Write and read a recording in 2013's format."""
    for name, text in files.items():
        (directory / "Web" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "Web" / name).write_text(text)
    (directory / "Web.fetchlog").mkdir()
    (directory / "Web.fetchlog" / "page").write_text(format_log(PageLog(responses=responses, transactions_seen=True)))
    return read_recording(directory / "Web", directory / "Web.fetchlog")


def body(written: Written, answer: Recorded) -> str | None:
    """Return the text that an answer has for its body."""
    if answer.file is None:
        return None
    return (written.directory / "Web" / answer.file).read_text()


def get(path: str, site: Site, **headers: str) -> Recorded:
    """Ask for `path` with these headers."""
    return site.answer(Request("GET", path, Asked({name.replace("_", "-"): value for name, value in headers.items()})))


def lookup(recording: Recording, host: str, path_and_query: str, scheme: str = "http", method: str = "GET"
           ) -> Recorded | None:
    """Return the final answer to exactly this URL and method, after redirects to itself; None if there is none."""
    recorded = recording.exact(scheme, host, path_and_query, method)
    return next((answer for answer in reversed(recorded) if not answer.redirect_url), next(reversed(recorded), None))


def _pairs(headers: Any) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]
