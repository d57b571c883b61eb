"""A recording with headers, for tests: several hosts over http and https, HTTP/1.1 and HTTP/2."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.files.pages import sanitise
from harness.files.text_log import PageLog, Response, format_log
from harness.mirror.paths import write_file

Headers = tuple[tuple[str, str], ...]
RECORDED = "2026-11-21T09:00:00.000+00:00"


@dataclass
class HttpsRecording:
    """What is written to `directory`: `name`.pages, `name`/, `name`.fetchlog/ with a text log and a HAR."""

    directory: Path
    name: str = "Web"
    entries: list[dict[str, Any]] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    def add(self, url: str, body: bytes | None = None, headers: Headers = (), *, status: int = 200, method: str = "GET",
            version: str = "h2", size: int | None = None, cookie: str = "", **more: Any) -> None:
        """Record an exchange; `body` goes where its URL puts it, as it was on the wire; `size` is it decoded."""
        if body is not None:
            mirror = self.directory / self.name
            more = {"_file": write_file(mirror, url, body).relative_to(mirror).as_posix(), **more}
        pairs = [{"name": name, "value": value} for name, value in headers]
        self.entries.append({
            "startedDateTime": RECORDED, "request": {
                "method": method, "url": url, "headers": [{"name": "cookie", "value": cookie}] if cookie else []},
            "response": {"status": status, "httpVersion": version, "headers": pairs,
                         "content": {"size": len(body or b"") if size is None else size}}, **more})
        self.urls.append(url)

    def finish(self, *pages: str) -> Path:
        """Write pages and logs; return the directory."""
        (self.directory / f"{self.name}.pages").write_text("".join(f"{page}\n" for page in pages))
        logs = self.directory / f"{self.name}.fetchlog"
        logs.mkdir()
        # The text log of a recording with a HAR does not count: here all of it is wrong.
        log = PageLog(responses=[Response("Not Found", "x/y", "", url, None) for url in self.urls],
                      transactions_seen=True)
        (logs / sanitise(pages[0])).write_text(format_log(log))
        (logs / f"{sanitise(pages[0])}.har").write_text(json.dumps({"log": {"entries": self.entries}}))
        return self.directory
