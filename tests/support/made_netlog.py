"""Net-logs made by hand, with bytes: events of a corpus, or one call a request."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.netlog.file import BEGIN, END
from harness.record.page import PageRecording, evaluate
from harness.record.visit import Visit

ABORTED = -3
PREFETCH = 1 << 9
"""The flag of what is fetched ahead, in Chromium's net/base/load_flags_list.h."""
PHASES = ("", " begin", " end")
PAGE = "http://a.test/"
Event = list[Any]
"""Tick, kind and id of the source, name (with " begin" or " end"), parameters; they may be missing."""


class MadeNetLog:
    """Collects events. Ticks begin at 1000 ms and go on by one for each event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.source = 0

    def add(self, name: str, phase: int = 0, **params: Any) -> None:
        """Add an event of the request at hand."""
        self.events.append([1000 + len(self.events), "URL_REQUEST", self.source, f"{name}{PHASES[phase]}", params])

    def begin(self, url: str, *how: Any, **more: Any) -> None:
        """Begin a request, a hop as below, and send it."""
        self.source += 1
        self.add("REQUEST_ALIVE", BEGIN)
        self.hop(url, *how, **more)

    def hop(self, url: str, method: str = "GET", main_frame: bool = False, *, sent: Sequence[str] = ()
            ) -> None:
        """Begin a hop of the request at hand and send it; `sent` are more headers."""
        self.add("URL_REQUEST_START_JOB", BEGIN, url=url, method=method, initiator="http://a.test",
                 **({"request_type": "main frame"} if main_frame else {}))
        self.add("HTTP_TRANSACTION_SEND_REQUEST", BEGIN)
        self.add("HTTP_TRANSACTION_SEND_REQUEST_HEADERS", line=f"{method} / HTTP/1.1\r\n",
                 headers=["Accept: */*", *sent])
        self.add("HTTP_TRANSACTION_SEND_REQUEST", END)

    def head(self, status: str, *headers: str) -> None:
        """Receive the head of an answer."""
        self.add("HTTP_TRANSACTION_READ_HEADERS", BEGIN)
        self.add("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", headers=[f"HTTP/1.1 {status}", *headers])
        self.add("HTTP_TRANSACTION_READ_HEADERS", END)

    def body(self, *parts: bytes) -> None:
        """Receive a body."""
        self.add("HTTP_TRANSACTION_READ_BODY", BEGIN)
        for part in parts:
            self.add("URL_REQUEST_JOB_FILTERED_BYTES_READ", bytes=base64.b64encode(part).decode())
        self.add("HTTP_TRANSACTION_READ_BODY", END)

    def end(self, cancelled: bool = False, error: int = 0) -> None:
        """End the request, with an error of Chrome's if one is given."""
        if cancelled or error:
            self.add("CANCELLED", net_error=error or ABORTED)
        self.add("REQUEST_ALIVE", END)

    def request(self, url: str, body: bytes, *headers: str, main_frame: bool = False) -> None:
        """Have a whole request with an answer."""
        self.begin(url, main_frame=main_frame)
        self.head("200 OK", *headers)
        self.body(body)
        self.end()

    def write(self, path: Path) -> Path:
        """Write the log as Chrome does: one event a line."""
        return write_made(self.events, path)


def numbers(events: Sequence[Event], at: int) -> dict[str, int]:
    """Return the numbers of what stands at a place of the events, names or kinds, without its phase."""
    return {name: number for number, name in enumerate(sorted({str(event[at]).split(" ")[0] for event in events}))}


def write_made(events: Sequence[Event], path: Path) -> Path:
    """Write a net-log of events as Chrome does, one a line. `text` among the parameters stands for bytes in ASCII."""
    types, kinds = numbers(events, 3), numbers(events, 1)
    rows = []
    for tick, kind, source, named, *parameters in events:
        name, space, phase = named.partition(" ")
        params = {**parameters[0]} if parameters else {}
        raw = params.pop("text", "").encode() or base64.b64decode(params.get("bytes", ""))
        params |= {"bytes": base64.b64encode(raw).decode(), "byte_count": len(raw)} if raw else {}
        rows.append(json.dumps({"time": str(tick), "type": types[name], "phase": PHASES.index(space + phase),
                                "params": params, "source": {"id": source, "type": kinds[kind]}}))
    constants = {"logEventTypes": types, "logSourceType": kinds, "timeTickOffset": 0,
                 "netError": {"ERR_ABORTED": ABORTED, "ERR_NAME_NOT_RESOLVED": -105},
                 "loadFlag": {"PREFETCH": PREFETCH}, "clientInfo": {"version": "1"}}
    listed = ",\n".join(rows)
    path.write_text(f'{{"constants":{json.dumps(constants)},\n"events": [\n{listed}],\n"polledData": []}}\n')
    return path


def seen(log: MadeNetLog, tmp_path: Path, **visit: Any) -> PageRecording:
    """Return PAGE as a recording saw it."""
    report = Visit(**{"start_tick": 1000, "end_tick": 1000.0 + len(log.events), "loaded": True, "quiet": True,
                      "document_uri": PAGE, **visit})
    return evaluate(PAGE, report, log.write(tmp_path / "netlog.json"))
