"""A small recording like those of fetch.py, made without a browser: bodies, logs, HAR, manifest."""

import gzip
from pathlib import Path

from harness.files.pages import Page, sanitise
from harness.mirror.importing import complete
from tests.support.recording import MadeRecording

URL = "https://www.made.test/"
STARTED = "2026-03-01T10:00:00.500+00:00"
STYLE = gzip.compress(b"body { color: red }" * 50, mtime=0)
TYPED: dict[str, tuple[bytes, dict[str, str]]] = {
    URL: (b"<!DOCTYPE html><title>made</title>", {"content-type": "text/html", "set-cookie": "a=1\nb=2"}),
    f"{URL}style.css": (STYLE, {"content-type": "text/css", "content-encoding": "gzip",
                                "transfer-encoding": "chunked"}),
    "http://img.made.test/p.png?x=1": (bytes(range(256)) * 4, {"content-type": "image/png", "content-length": "1024"})}


def make_recording(directory: Path, name: str = "made") -> list[Page]:
    """Write NAME/ and NAME.fetchlog/; a redirect, a POST and a failure are among the requests. Return the pages."""
    made = MadeRecording(directory, name)
    for url, (body, headers) in TYPED.items():
        made.add(url, body, [*headers.items()], asked={"accept": "*/*"},
                 version="h2" if url.startswith("https:") else "HTTP/1.1")
    made.add(f"{URL}old", to="/style.css", status=301)
    made.add(f"{URL}gone", status=0, _error="net::ERR_FAILED", _partial=True)
    made.add(f"{URL}api", b'{"answer": 1}', "application/json", method="POST", post='{"question": 1}')
    for entry in made.entries:
        entry |= {"startedDateTime": STARTED, "time": 12.5, "timings": {"send": 0.5, "wait": 10, "receive": 1}}
        entry["request"]["httpVersion"] = entry["response"]["httpVersion"]
        entry["response"]["bodySize"] = entry["response"]["content"]["size"]
    made.finish(URL)
    complete(directory / f"{name}.fetchlog", made.mirror, "recorded", {"pages": [{"url": URL}]})
    return [Page(URL, sanitise(URL))]
