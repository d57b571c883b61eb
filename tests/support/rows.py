"""Loads as a corpus has them, in few words: `timeline_of` makes of them what a HAR and a record would tell.

`requests` are a HAR's entries (`at`: ms from navigationStart; timings that are not named do not apply), `connections`
[id, start, handshake] in ms, `initiators` what Chrome says.
"""

from datetime import timedelta
from typing import Any

import msgspec

from harness.analysis.timeline import Timeline, make_timeline
from harness.files.har import log_of
from harness.files.load_parts import Initiator
from harness.files.load_record import FORMAT, LoadRecord
from tests.support.made_har import ORIGIN, PAGE, fill

TIMINGS = {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 0}


def timeline_of(load: dict[str, Any]) -> Timeline:
    """Return the timeline of a load."""
    record = LoadRecord.from_json({
        "format": FORMAT, "url": PAGE, "page": "page", "delaynet_ms": 50, "rtt_ms": 100, "tfo": load.get("tfo", 0),
        "run": 1, "valid": True, "plt_ms": load["plt_ms"], "dom_content_loaded_ms": load.get("parsed_ms"),
        "long_tasks": load.get("long_tasks", []), "network": load.get("network", "star"),
        "connections": [{"id": number, "start_ms": start_ms, "connect_ms": connect_ms, "requests": 1}
                        for number, start_ms, connect_ms in load["connections"]]})
    log = {"pages": [{"startedDateTime": ORIGIN.isoformat()}], "entries": [_entry(row) for row in load["requests"]]}
    return make_timeline(log_of(log), record, load["plt_ms"],
                         msgspec.convert(load.get("initiators", []), list[Initiator]))


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    connection = {"connection": str(row["connection"])} if "connection" in row else {}
    sent = {**row["headers"], **({"Content-Length": str(row["posted_bytes"])} if row.get("posted_bytes") else {})}
    entry = {
        "startedDateTime": (ORIGIN + timedelta(milliseconds=row["at"])).isoformat(timespec="milliseconds"),
        "request": {"method": row.get("method", "GET"), "url": row["url"],
                    "httpVersion": row.get("version", "HTTP/1.1"),
                    "headers": [{"name": name, "value": value} for name, value in sent.items()]},
        "response": {"status": row.get("status", 200), "redirectURL": row.get("redirect", ""),
                     "bodySize": row.get("bytes", 0), "content": {"mimeType": row.get("type", "")},
                     **({"_earlyHints": [{"name": "Link", "value": "x"}]} if row.get("hints") else {})},
        "timings": {name: row.get(name, value) for name, value in TIMINGS.items()}, **connection,
        **row.get("extra", {})}
    fill(entry, row.get("sent_bytes", 400))
    return entry
