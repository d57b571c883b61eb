"""The bodies of a page load, exactly as they came over the wire, from Chrome's own net-log.

Chrome writes them there with ``--net-log-capture-mode=Everything``: URL_REQUEST_JOB_BYTES_READ has the bytes before
content decoding and URL_REQUEST_JOB_FILTERED_BYTES_READ those after it (only the latter when there is nothing to
decode), base64 in `bytes`. This is better than the debugging protocol's Network.getResponseBody in three ways. It has
the encoded bytes, so that a replay sends as many as the original did; getResponseBody has only decoded ones. It has
every frame, worker and service worker, preflights, and what was aborted half way; the protocol tells each of these on a
session of its own, or not at all. And it loses nothing: Chrome drops bodies from the protocol's buffer when a document
is replaced or the buffer is full. Only the bodies of redirects are in neither: Chrome does not read them.
"""

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ExperimentError
from harness.netlog_file import BEGIN

EVENT_TYPE = re.compile(rb'"type":(\d+)\},?\s*$')
"""An event's line ends with its type, so most lines need not be parsed."""
START, SEND = "URL_REQUEST_START_JOB", "HTTP_TRANSACTION_SEND_REQUEST"
RAW, DECODED = "URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"


@dataclass
class Body:
    """One response's body as far as it came."""

    encoded: bytearray = field(default_factory=bytearray)
    """Before content decoding; empty when there was nothing to decode."""
    decoded: bytearray = field(default_factory=bytearray)

    @property
    def wire(self) -> bytes:
        """The bytes as they came over the wire, without the chunks or frames of the transfer."""
        return bytes(self.encoded or self.decoded)


def read_bodies(path: Path) -> dict[tuple[int, int], Body]:
    """Return the bodies in a net-log, complete or cut off, by request: (`source`, `hop`) of its HttpTransaction.

    A request without a body, or whose bytes the log does not have, is left out. Raises ExperimentError when the file
    cannot be read.
    """
    bodies: dict[tuple[int, int], Body] = {}
    hops: dict[int, int] = {}
    try:
        with path.open("rb") as file:
            names = _type_names(file.readline())
            for line in file:
                ending = EVENT_TYPE.search(line)
                name = names.get(int(ending[1])) if ending else None
                if name is not None:
                    _read_event(name, line, hops, bodies)
    except OSError as error:
        raise ExperimentError(f"{path}: no net-log ({error.strerror}); did Chrome start, and may it write?") from None
    return bodies


def _type_names(first_line: bytes) -> dict[int, str]:
    """Return the numbers, in this log, of the events that are read."""
    try:
        text = first_line.decode("utf-8", errors="replace").removeprefix('{"constants":').lstrip()
        types = json.JSONDecoder().raw_decode(text)[0]["logEventTypes"]
        return {int(types[name]): name for name in (START, SEND, RAW, DECODED) if name in types}
    except (ValueError, KeyError, TypeError):
        return {}


def _read_event(name: str, line: bytes, hops: dict[int, int], bodies: dict[tuple[int, int], Body]) -> None:
    try:
        event: dict[str, Any] = json.loads(line.strip().rstrip(b","))
        source = int(event["source"]["id"])
        if name in (START, SEND) and event["phase"] != BEGIN:
            return
        if name == START:
            hops[source] = hops.get(source, -1) + 1
            return
        key = (source, hops.get(source, 0))
        if name == SEND:                    # sent again on another connection: what came before is void
            bodies.pop(key, None)
            return
        data = base64.b64decode(event["params"]["bytes"])
    except (ValueError, KeyError, TypeError):
        return                              # a line that is cut off, or a log without bytes
    body = bodies.setdefault(key, Body())
    (body.encoded if name == RAW else body.decoded).extend(data)
