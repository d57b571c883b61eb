"""Loads made by code: a HAR and a JSON record whose critical path is known, because it was drawn on paper first."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from harness.files.har import LoadLog, log_of, request_head_bytes
from harness.files.har_entry import from_har
from harness.files.load_record import FORMAT, LoadRecord
from harness.files.pages import sanitise
from harness.files.results import LoadResult, cell_directory, read_results, write_load

ORIGIN = datetime(2026, 11, 21, tzinfo=timezone.utc)
PAGE = "http://page.test/"
ACCEPT = {"document": "text/html,*/*", "style": "text/css,*/*", "image": "image/avif,*/*", "script": "*/*",
          "data": "*/*"}
TYPES = {"document": "text/html", "style": "text/css", "image": "image/gif", "script": "text/javascript",
         "data": "application/json"}


def fill(entry: dict[str, Any], head_bytes: int) -> None:
    """Give the request of a HAR's entry a header with which its head is as large as that over HTTP/1."""
    headers = entry["request"]["headers"]
    headers.append({"name": "X", "value": ""})
    headers[-1]["value"] = "x" * max(0, head_bytes - request_head_bytes(from_har(entry)))


@dataclass
class MadeLoad:
    """A load to be written; times in ms from navigationStart."""

    plt_ms: float
    entries: list[dict[str, Any]] = field(default_factory=list)
    connections: list[dict[str, Any]] = field(default_factory=list)
    long_tasks: list[tuple[float, float]] = field(default_factory=list)
    parsed_ms: float | None = None

    def add(self, url: str, start: float, kind: str = "script", *, queue: float = 0, dns: float = -1,
            connect: float = 100, ssl: float = -1, wait: float = 100, receive: float = 0, connection: int = 0,
            referer: str = PAGE, redirect: str = "", request_bytes: int = 400, error: str = "",
            version: str = "HTTP/1.1", body_bytes: int = 0, synchronous: bool = False,
            fetched: tuple[str, str] = ("", ""), method: str = "GET") -> float:
        """Add a request, on a new connection unless `connect` is below 0 and `connection` is one; return its end.

        `fetched` are its Sec-Fetch-Dest and Sec-Fetch-Mode.
        """
        number = connection or len(self.connections) + 1
        if connect >= 0:
            tcp = connect - max(0.0, ssl)
            self.connections.append({"id": number, "address": "10.0.0.2:8000", "connect_ms": tcp, "requests": 1,
                                     "start_ms": start + queue + max(0.0, dns)})
        entry: dict[str, Any] = {
            "startedDateTime": (ORIGIN + timedelta(milliseconds=start)).isoformat(timespec="milliseconds"),
            "request": {"method": method, "url": url, "httpVersion": version,
                        "headers": [{"name": "Accept", "value": ACCEPT[kind]},
                                    *([{"name": "Referer", "value": referer}] if referer else [])]},
            "response": {"status": 302 if redirect else 200, "redirectURL": redirect, "bodySize": body_bytes,
                         "content": {"mimeType": "" if redirect else TYPES[kind]}},
            "timings": {"blocked": queue, "dns": dns, "connect": connect, "ssl": ssl, "send": 0, "wait": wait,
                        "receive": receive},
            "connection": str(number)}
        origin = "/".join(referer.split("/")[:3])
        if kind == "data" and origin and not url.startswith(f"{origin}/"):      # as Chrome says what scripts fetch
            entry["request"]["headers"].append({"name": "Origin", "value": origin})
        for name, value in zip(("Sec-Fetch-Dest", "Sec-Fetch-Mode"), fetched, strict=True):
            entry["request"]["headers"] += [{"name": name, "value": value}] if value else []
        if synchronous:
            entry["_synchronous"] = True
        fill(entry, request_bytes)
        self.entries.append({**entry, "_error": error} if error else entry)
        return start + queue + max(0.0, dns) + max(0.0, connect) + wait + receive

    def add_cached(self, url: str, start: float, waits: float, kind: str = "script", referer: str = PAGE) -> float:
        """Add a request that gets its answer from Chrome's cache after it has waited for it; return its end."""
        end = self.add(url, start, kind, queue=waits, connect=-1, wait=0, referer=referer)
        del self.entries[-1]["connection"]
        self.entries[-1]["_fromCache"] = "disk"
        return end

    def log(self) -> LoadLog:
        """Return the load's HAR as it is read."""
        return log_of(self.written())

    def written(self) -> dict[str, Any]:
        """Return the HAR's log."""
        return {"version": "1.2", "entries": self.entries,
                "pages": [{"startedDateTime": ORIGIN.isoformat(timespec="milliseconds"), "id": "page_1"}]}

    def record(self, rtt_ms: float = 100, run: int = 1, tfo: int = 0, url: str = PAGE) -> LoadRecord:
        """Return the load's record."""
        return LoadRecord.from_json({
            "format": FORMAT, "url": url, "page": sanitise(url), "delaynet_ms": rtt_ms / 2, "rtt_ms": rtt_ms,
            "tfo": tfo, "run": run, "valid": True, "plt_ms": self.plt_ms, "last_ms": self.plt_ms,
            "connections": self.connections, "long_tasks": self.long_tasks, "dom_content_loaded_ms": self.parsed_ms})

    def write(self, clientdir: Path, rtt_ms: float = 100, run: int = 1, tfo: int = 0, url: str = PAGE) -> LoadResult:
        """Write HAR and JSON into a client folder; return the load as read back."""
        page, delaynet_ms = sanitise(url), rtt_ms / 2
        directory = clientdir / cell_directory(delaynet_ms, run, tfo)
        write_load(directory, self.record(rtt_ms, run, tfo, url))
        (directory / f"{page}.har").write_text(json.dumps({"log": self.written()}))
        return next(load for load in read_results(clientdir).loads
                    if (load.page, load.rtt_ms, load.run, load.tfo) == (page, rtt_ms, run, tfo))


def chain(hosts: int, connect: float = 100) -> MadeLoad:
    """A document, a script of another host, which inserts a script of a third, and so on; CPU 5 ms after each."""
    load = MadeLoad(0.0)
    at = 3.0
    for host in range(hosts):
        at = load.add(PAGE if host == 0 else f"http://host{host}.test/s.js", at, "script" if host else "document",
                      connect=connect, receive=2, referer=PAGE if host else "") + 5
    load.plt_ms = at
    return load
