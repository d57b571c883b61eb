"""A small recording like those of fetch.py, made without a browser: bodies, text log, HAR, manifest."""

import gzip
import json
from pathlib import Path
from typing import Any

from harness.files.pages import Page, sanitise
from harness.mirror.importing import complete
from harness.mirror.paths import write_file

URL = "https://www.made.test/"
STARTED = "2026-03-01T10:00:00.500+00:00"
PICTURE = bytes(range(256)) * 4
STYLE = gzip.compress(b"body { color: red }" * 50, mtime=0)
TYPED: dict[str, tuple[bytes, dict[str, str]]] = {
    URL: (b"<!DOCTYPE html><title>made</title>", {"content-type": "text/html", "set-cookie": "a=1\nb=2"}),
    f"{URL}style.css": (STYLE, {"content-type": "text/css", "content-encoding": "gzip",
                                "transfer-encoding": "chunked"}),
    "http://img.made.test/p.png?x=1": (PICTURE, {"content-type": "image/png", "content-length": "1024"})}


def make_recording(directory: Path, name: str = "made") -> list[Page]:
    """Write NAME/ and NAME.fetchlog/; a redirect, a POST and a failure are among the requests. Return the pages."""
    page, mirror, fetchlog = Page(URL, sanitise(URL)), directory / name, directory / f"{name}.fetchlog"
    fetchlog.mkdir(parents=True)
    entries = [_entry(url, 200, headers, len(body), _file=write_file(mirror, url, body).relative_to(mirror).as_posix())
               for url, (body, headers) in TYPED.items()]
    entries.append(_entry(f"{URL}old", 301, {"location": "/style.css"}, 0, redirect=f"{URL}style.css"))
    entries.append(_entry(f"{URL}gone", 0, {}, 0, _error="net::ERR_FAILED", _partial=True))
    answer = write_file(mirror, f"{URL}api", b'{"answer": 1}').relative_to(mirror).as_posix()
    entries.append(_entry(f"{URL}api", 200, {"content-type": "application/json"}, 13, method="POST", _file=answer))
    entries[-1]["request"]["postData"] = {"mimeType": "application/json", "text": '{"question": 1}'}
    log = {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries,
           "pages": [{"startedDateTime": STARTED, "id": "page_1", "title": URL, "pageTimings": {"onLoad": 900}}]}
    (fetchlog / f"{page.name}.har").write_text(json.dumps({"log": log}))
    (fetchlog / page.name).write_text("<responses>\n</responses>\n")
    complete(fetchlog, mirror, "recorded", {"pages": [{"url": URL}]})
    return [page]


def _entry(url: str, status: int, headers: dict[str, str], size: int, *, method: str = "GET", redirect: str = "",
           **more: Any) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in headers.items()]
    version = "h2" if url.startswith("https:") else "HTTP/1.1"
    asked = [{"name": "accept", "value": "*/*"}] + ([{"name": ":method", "value": method}] if version == "h2" else [])
    return {"pageref": "page_1", "startedDateTime": STARTED, "time": 12.5, "cache": {},
            "timings": {"blocked": 1, "dns": -1, "connect": -1, "ssl": -1, "send": 0.5, "wait": 10, "receive": 1},
            "request": {"method": method, "url": url, "httpVersion": version, "cookies": [], "headers": asked,
                        "queryString": [], "headersSize": -1, "bodySize": -1},
            "response": {"status": status, "statusText": "OK" if status == 200 else "", "httpVersion": version,
                         "cookies": [], "headers": listed, "redirectURL": redirect, "headersSize": -1,
                         "bodySize": size, "content": {"size": size, "mimeType": headers.get("content-type", "")}},
            **more}
