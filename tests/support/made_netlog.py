"""Net-logs made by hand, with bytes, for tests of the recorder: one call a request."""

import base64
import json
from pathlib import Path
from typing import Any

from harness.netlog.file import BEGIN, END

TYPES = {name: number for number, name in enumerate((
    "REQUEST_ALIVE", "URL_REQUEST_START_JOB", "HTTP_TRANSACTION_SEND_REQUEST", "HTTP_TRANSACTION_SEND_REQUEST_HEADERS",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS", "HTTP_TRANSACTION_READ_HEADERS",
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", "HTTP_TRANSACTION_READ_BODY", "URL_REQUEST_JOB_BYTES_READ",
    "URL_REQUEST_JOB_FILTERED_BYTES_READ", "URL_REQUEST_REDIRECTED", "CANCELLED",
    "HTTP_STREAM_REQUEST_BOUND_TO_JOB", "TCP_CONNECT", "SOCKET_IN_USE", "HTTP2_SESSION_INITIALIZED",
    "HTTP2_SESSION_SEND_HEADERS", "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS",
    "SOCKET_BYTES_SENT", "HTTP_CACHE_READ_INFO", "HTTP_STREAM_REQUEST", "SSL_CONNECT"), start=1)}
KINDS = {"URL_REQUEST": 1, "SOCKET": 2, "HTTP2_SESSION": 3}
ABORTED = -3
PREFETCH = 1 << 9
"""The flag of what is fetched ahead, in Chromium's net/base/load_flags_list.h."""


PHASES = ("", "begin", "end")


class MadeNetLog:
    """Collects events. Ticks begin at 1000 ms and go on by one for each event."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.source = 0
        self.kind = "URL_REQUEST"

    def add(self, name: str, phase: int = 0, **params: Any) -> None:
        """Add an event of the request (or whatever `kind` says) at hand."""
        self.events.append({"params": params, "phase": phase, "source": {"id": self.source, "type": KINDS[self.kind]},
                            "time": str(1000 + len(self.events)), "type": TYPES[name]})

    def begin(self, url: str, method: str = "GET", main_frame: bool = False, h2: bool = False, job: int = 0, *,
              sent: tuple[str, ...] = ()) -> None:
        """Begin a request and send it."""
        self.source += 1
        self.add("REQUEST_ALIVE", BEGIN)
        self.job(url, method, main_frame, h2, job, sent=sent)

    def job(self, url: str, method: str = "GET", main_frame: bool = False, h2: bool = False, job: int = 0, *,
            sent: tuple[str, ...] = ()) -> None:
        """Begin a hop of the request at hand and send it; `job` is its stream job, 0 for none, `sent` more headers."""
        self.add("URL_REQUEST_START_JOB", BEGIN, url=url, method=method, initiator="http://a.test",
                 **({"request_type": "main frame"} if main_frame else {}))
        if job:
            self.add("HTTP_STREAM_REQUEST_BOUND_TO_JOB", source_dependency={"id": job, "type": 9})
        self.add("HTTP_TRANSACTION_SEND_REQUEST", BEGIN)
        if h2:
            self.add("HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS", headers=[f":method: {method}", "accept: */*"])
        else:
            self.add("HTTP_TRANSACTION_SEND_REQUEST_HEADERS", line=f"{method} / HTTP/1.1\r\n",
                     headers=["Accept: */*", *sent])
        self.add("HTTP_TRANSACTION_SEND_REQUEST", END)

    def early_hints(self, *headers: str) -> None:
        """Receive a 103."""
        self.add("HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS", headers=["HTTP/1.1 103", *headers])

    def head(self, status: str, *headers: str) -> None:
        """Receive the head of an answer."""
        self.add("HTTP_TRANSACTION_READ_HEADERS", BEGIN)
        self.add("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", headers=[f"HTTP/1.1 {status}", *headers])
        self.add("HTTP_TRANSACTION_READ_HEADERS", END)

    def body(self, *parts: bytes, decoded: bytes | None = None) -> None:
        """Receive a body; `decoded` if it had a content-encoding."""
        self.add("HTTP_TRANSACTION_READ_BODY", BEGIN)
        name = "URL_REQUEST_JOB_FILTERED_BYTES_READ" if decoded is None else "URL_REQUEST_JOB_BYTES_READ"
        for part in parts:
            self.add(name, byte_count=len(part), bytes=base64.b64encode(part).decode())
        if decoded is not None:
            self.add("URL_REQUEST_JOB_FILTERED_BYTES_READ", byte_count=len(decoded),
                     bytes=base64.b64encode(decoded).decode())
        self.add("HTTP_TRANSACTION_READ_BODY", END)

    def end(self, cancelled: bool = False, error: int = 0) -> None:
        """End the request, with an error of Chrome's if one is given."""
        if cancelled or error:
            self.add("CANCELLED", net_error=error or ABORTED)
        self.add("REQUEST_ALIVE", END)

    def request(self, url: str, status: str, body: bytes = b"", *headers: str, method: str = "GET",
                main_frame: bool = False, cancelled: bool = False, ahead: bool = False) -> None:
        """Have a whole request with an answer, one that is given up after `body`, or one `ahead` of another page."""
        self.begin(url, method, main_frame)
        if ahead:
            begun = next(event for event in reversed(self.events) if "url" in event["params"])
            begun["params"]["load_flags"] = PREFETCH
        self.head(status, *headers)
        if body:
            self.body(body)
        self.end(cancelled)

    def cached(self, url: str, body: bytes = b"", redirect_to: str = "") -> None:
        """Have an answer come from Chrome's cache, whose head the log leaves out."""
        self.source += 1
        self.add("REQUEST_ALIVE", BEGIN)
        self.add("URL_REQUEST_START_JOB", BEGIN, url=url, method="GET", initiator="http://a.test")
        self.add("HTTP_CACHE_READ_INFO", END)
        if redirect_to:
            self.add("URL_REQUEST_REDIRECTED", location=redirect_to)
        else:
            self.body(body)
        self.end()

    def write(self, path: Path) -> Path:
        """Write the log as Chrome does: one event a line."""
        constants = {"logEventTypes": TYPES, "logSourceType": KINDS, "timeTickOffset": 0,
                     "netError": {"ERR_ABORTED": ABORTED, "ERR_NAME_NOT_RESOLVED": -105},
                     "loadFlag": {"PREFETCH": PREFETCH},
                     "clientInfo": {"version": "1"}}
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in self.events)
        path.write_text(f'{{"constants":{json.dumps(constants)},\n"events": [\n{lines}],\n"polledData": []}}\n')
        return path


def write_made(events: list[list[Any]], path: Path) -> Path:
    """Write a net-log of events: tick, kind and id of the source, name (with " begin" or " end"), parameters.

    `text` among the parameters stands for bytes in ASCII.
    """
    types, kinds = (sorted({str(event[at]).split(" ")[0] for event in events}) for at in (3, 1))
    rows = []
    for tick, kind, source, named, *parameters in events:
        name, _, phase = named.partition(" ")
        params = {**parameters[0]} if parameters else {}
        raw = params.pop("text", "").encode() or base64.b64decode(params.get("bytes", ""))
        params |= {"bytes": base64.b64encode(raw).decode(), "byte_count": len(raw)} if raw else {}
        rows.append({"time": str(tick), "type": types.index(name), "phase": PHASES.index(phase), "params": params,
                     "source": {"id": source, "type": kinds.index(kind)}})
    constants = {"logEventTypes": {name: number for number, name in enumerate(types)}, "timeTickOffset": 0,
                 "logSourceType": {name: number for number, name in enumerate(kinds)},
                 "netError": {"ERR_ABORTED": -3, "ERR_NAME_NOT_RESOLVED": -105}}
    path.write_text(json.dumps({"constants": constants, "events": rows}), encoding="utf-8")
    return path
