"""Loads made by code: a HAR and a record whose critical path is known, because it was drawn on paper first."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from harness.analysis.timeline import Timeline, make_timeline
from harness.files.har import log_of, request_head_bytes
from harness.files.har_entry import from_har
from harness.files.load_parts import Initiator
from harness.files.load_record import LoadRecord
from harness.files.pages import sanitise
from harness.files.results import LoadResult, cell_directory, read_results, write_load
from tests.support.made_record import made_record

ORIGIN = datetime(2026, 11, 21, tzinfo=timezone.utc)
PAGE = "http://page.test/"
KINDS = {"document": ("text/html", {"Accept": "text/html,*/*"}), "style": ("text/css", {"Accept": "text/css,*/*"}),
         "image": ("image/gif", {"Accept": "image/avif,*/*"}), "script": ("text/javascript", {"Accept": "*/*"}),
         "data": ("application/json", {"Accept": "*/*", "Sec-Fetch-Dest": "empty"})}
"""Of a request, by what it is for: the answer's type, and the headers by which Chrome says so."""
TIMINGS = {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 0}


@dataclass
class MadeLoad:
    """A load to be written; times in ms from navigationStart. `entries` are its HAR's."""

    plt_ms: float
    entries: list[dict[str, Any]] = field(default_factory=list)
    connections: list[dict[str, Any]] = field(default_factory=list)
    long_tasks: list[tuple[float, float]] = field(default_factory=list)

    def add(self, url: str, start: float, kind: str = "script", *, connection: int = 0, referer: str = PAGE,
            **row: Any) -> float:
        """Add a request, whose handshake and whose wait are 100 ms unless `row` says otherwise; return its end.

        It is on a new connection unless `connect` is below 0 and `connection` is one.
        """
        row = {"connect": 100, "wait": 100, **row}
        mime_type, headers = KINDS[kind]
        number = connection or len(self.connections) + 1
        free = start + row.get("blocked", 0) + max(0, row.get("dns", 0))
        if row["connect"] >= 0:
            self.connections.append(connection_of(number, free, row["connect"] - max(0, row.get("ssl", 0))))
        self.entries.append(entry_of({
            "at": start, "url": url, "headers": {**headers, **({"Referer": referer} if referer else {})},
            "type": mime_type, "connection": number, **row}))
        return float(free + max(0, row["connect"]) + row["wait"] + row.get("receive", 0))

    def add_cached(self, url: str, start: float, waits: float, kind: str = "script") -> None:
        """Add a request that gets its answer from Chrome's cache after it has waited for it."""
        self.add(url, start, kind, blocked=waits, connect=-1, wait=0, extra={"_fromCache": "disk"})
        del self.entries[-1]["connection"]

    def written(self) -> dict[str, Any]:
        """Return the HAR's log."""
        return {"version": "1.2", "entries": self.entries,
                "pages": [{"startedDateTime": ORIGIN.isoformat(timespec="milliseconds"), "id": "page_1"}]}

    def record(self, rtt_ms: float = 100, run: int = 1, tfo: int = 0, **more: Any) -> LoadRecord:
        """Return the load's record."""
        return made_record(url=PAGE, page=sanitise(PAGE), delaynet_ms=rtt_ms / 2, rtt_ms=rtt_ms, tfo=tfo, run=run,
                           plt_ms=self.plt_ms, last_ms=self.plt_ms, connections=self.connections,
                           long_tasks=self.long_tasks, **more)

    def timeline(self, initiators: list[Initiator] | None = None, **record: Any) -> Timeline:
        """Return the load as it is analysed."""
        return make_timeline(log_of(self.written()), self.record(**record), self.plt_ms, initiators or [])

    def write(self, clientdir: Path, rtt_ms: float = 100, run: int = 1, tfo: int = 0) -> LoadResult:
        """Write HAR and JSON into a client folder; return the load as read back."""
        directory = clientdir / cell_directory(rtt_ms / 2, run, tfo)
        write_load(directory, self.record(rtt_ms, run, tfo))
        (directory / f"{sanitise(PAGE)}.har").write_text(json.dumps({"log": self.written()}))
        return next(load for load in read_results(clientdir).loads
                    if (load.page, load.rtt_ms, load.run, load.tfo) == (sanitise(PAGE), rtt_ms, run, tfo))


def connection_of(number: int, start_ms: float, connect_ms: float) -> dict[str, Any]:
    """Return what a record has of a connection."""
    return {"id": number, "address": "10.0.0.2:8000", "connect_ms": connect_ms, "requests": 1, "start_ms": start_ms}


def entry_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a HAR's entry, made from few words: `at`, `url`, `headers` and what is not as usual.

    The request has a header with which its head is as large as `sent_bytes` over HTTP/1.
    """
    connection = {"connection": str(row["connection"])} if "connection" in row else {}
    headers = [{"name": name, "value": value} for name, value in {**row["headers"], "X": ""}.items()]
    entry = {
        "startedDateTime": (ORIGIN + timedelta(milliseconds=row["at"])).isoformat(timespec="milliseconds"),
        "request": {"method": row.get("method", "GET"), "url": row["url"],
                    "httpVersion": row.get("version", "HTTP/1.1"), "headers": headers},
        "response": {"status": row.get("status", 200), "redirectURL": row.get("redirect", ""),
                     "bodySize": row.get("bytes", 0), "content": {"mimeType": row.get("type", "")},
                     **({"_earlyHints": [{"name": "Link", "value": "x"}]} if row.get("hints") else {})},
        "timings": {name: row.get(name, value) for name, value in TIMINGS.items()}, **connection,
        **row.get("extra", {})}
    headers[-1]["value"] = "x" * max(0, row.get("sent_bytes", 400) - request_head_bytes(from_har(entry)))
    return entry


def timeline_of(load: Mapping[str, Any]) -> Timeline:
    """Return the timeline of a load as corpora have it, from what a HAR and a record would tell.

    `requests` are entries (`at`: ms from navigationStart; timings that are not named do not apply), `connections`
    [id, start, handshake] in ms, `initiators` what Chrome says.
    """
    made = MadeLoad(load["plt_ms"], [entry_of(row) for row in load["requests"]],
                    [connection_of(*each) for each in load["connections"]], load.get("long_tasks", []))
    return made.timeline(msgspec.convert(load.get("initiators", []), list[Initiator]), tfo=load.get("tfo", 0),
                         network=load.get("network", "star"), dom_content_loaded_ms=load.get("parsed_ms"))


def chain(hosts: int, connect: float = 100) -> MadeLoad:
    """A document, a script of another host, which inserts a script of a third, and so on; CPU 5 ms after each."""
    load = MadeLoad(0.0)
    at = 3.0
    for host in range(hosts):
        at = load.add(PAGE if host == 0 else f"http://host{host}.test/s.js", at, "script" if host else "document",
                      connect=connect, receive=2, referer=PAGE if host else "") + 5
    load.plt_ms = at
    return load
