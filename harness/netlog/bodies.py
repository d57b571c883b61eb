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
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.netlog.file import BEGIN, read_constants, read_events

START, SEND, WAIT = "URL_REQUEST_START_JOB", "HTTP_TRANSACTION_SEND_REQUEST", "HTTP_TRANSACTION_READ_BODY"
RAW, DECODED = "URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"


@dataclass
class ResponseBody:
    """One response's body as far as it came."""

    encoded: bytearray = field(default_factory=bytearray)
    """Before content decoding; empty when there was nothing to decode."""
    decoded: bytearray = field(default_factory=bytearray)

    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """When how many bytes of `wire` had come: ticks and sizes."""
    waits: list[tuple[int, int, int]] = field(default_factory=list)
    """From when to when Chrome waited for the next bytes, in ticks, and how many bytes of `wire` had come before.

    What Chrome itself leaves unread for a while, since the page is busy, say, is no wait.
    """
    _asked: int | None = None

    @property
    def wire(self) -> bytes:
        """The bytes as they came over the wire, without the chunks or frames of the transfer."""
        return bytes(self.encoded or self.decoded)

    def note_wait(self, tick: int, *, begins: bool) -> None:
        """Note that Chrome asks for the next bytes at `tick`, or that it has them, or the end of the body."""
        if not begins and self._asked is not None and tick > self._asked:
            self.waits.append((self._asked, tick, len(self.encoded or self.decoded)))
        self._asked = tick if begins else None


def read_bodies(path: Path) -> dict[tuple[int, int], ResponseBody]:
    """Return the bodies in a net-log, complete or cut off, by request: (`source`, `hop`) of its HttpTransaction.

    A request without a body, or whose bytes the log does not have, is left out. Raises ExperimentError when the file
    cannot be read.
    """
    bodies: dict[tuple[int, int], ResponseBody] = {}
    hops: dict[int, int] = {}
    types = read_constants(path).get("logEventTypes")
    if not isinstance(types, dict):
        return bodies
    names = {types[name]: name for name in (START, SEND, WAIT, RAW, DECODED) if name in types}
    for event in read_events(path, []):     # read_netlog of the same file tells of its problems
        with contextlib.suppress(KeyError, TypeError, ValueError):      # no event, or one of a log without bytes
            name = names.get(event["type"])
            if name is not None:
                _read_event(name, event, hops, bodies)
    return {key: body for key, body in bodies.items() if body.arrivals}


def _read_event(name: str, event: dict[str, Any], hops: dict[int, int],
                bodies: dict[tuple[int, int], ResponseBody]) -> None:
    """Take an event of a request: bytes that came belong to the hop (after so many redirects) that is under way."""
    source = int(event["source"]["id"])
    if name in (START, SEND) and event["phase"] != BEGIN:
        return
    if name == START:
        hops[source] = hops.get(source, -1) + 1
        return
    key = (source, hops.get(source, 0))
    if name == SEND:                        # sent again on another connection: what came before is void
        bodies.pop(key, None)
        return
    if name == WAIT:
        bodies.setdefault(key, ResponseBody()).note_wait(int(event["time"]), begins=event["phase"] == BEGIN)
        return
    data = base64.b64decode(event["params"]["bytes"])
    body = bodies.setdefault(key, ResponseBody())
    (body.encoded if name == RAW else body.decoded).extend(data)
    if name == RAW or not body.encoded:
        body.arrivals.append((int(event["time"]), len(body.encoded or body.decoded)))
