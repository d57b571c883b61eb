"""A page on two servers, as a recording with a HAR tells of it: how far away each was, and how long it thought."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.explained_pages import document, inserting
from tests.support.https_recording import HttpsRecording

PAGE, SCRIPT, LAST = "http://near.test/", "http://far.test/1.js", "http://near.test/2.js"
NEAR, FAR = "near.test", "far.test"
TYPES = {PAGE: "text/html", SCRIPT: "text/javascript", LAST: "text/javascript"}
BODIES = {PAGE: document(f"<script src={SCRIPT}></script>"), SCRIPT: inserting(LAST), LAST: "/* the end */"}


def record_thinking_servers(directory: Path, rtts_ms: Mapping[str, float], thinks_ms: Mapping[str, float]) -> None:
    """Write the recording ("small"): `rtts_ms` by host (NEAR, FAR), `thinks_ms` before the answer to each URL."""
    recording = HttpsRecording(directory, "small")
    for url, body in BODIES.items():
        rtt_ms = rtts_ms[url.split("/")[2]]
        recording.add(url, body.encode(), (("Content-Type", TYPES[url]),), version="HTTP/1.1", timings={
            "blocked": 1, "dns": 0, "connect": rtt_ms + (url == LAST), "ssl": -1, "send": 0, "receive": 1,
            "wait": rtt_ms + thinks_ms[url]})
    recording.finish(PAGE)
