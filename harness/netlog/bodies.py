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
from dataclasses import dataclass, field

from harness.netlog.file import Event


@dataclass
class ResponseBody:
    """One response's body as far as it came; its bytes are left out unless they are to be `kept`."""

    kept: bool = False
    encoded: bytearray = field(default_factory=bytearray)
    """Before content decoding; empty when there was nothing to decode."""
    decoded: bytearray = field(default_factory=bytearray)

    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """When how many bytes of `wire` had come: ticks and sizes."""
    waits: list[tuple[int, int, int]] = field(default_factory=list)
    """From when to when Chrome waited for the next bytes, in ticks, and how many bytes of `wire` had come before.

    What Chrome itself leaves unread for a while, since the page is busy, say, is no wait.
    """
    asked: int | None = None
    """When Chrome asked for the next bytes, which have not come."""

    @property
    def wire(self) -> bytes:
        """The bytes as they came over the wire, without the chunks or frames of the transfer."""
        return bytes(self.encoded or self.decoded)

    def has(self, event: Event) -> None:
        """Note that Chrome has the next bytes, or the end of the body."""
        if self.asked is not None and event.tick > self.asked:
            self.waits.append((self.asked, event.tick, len(self.encoded or self.decoded)))
        self.asked = None

    def came(self, event: Event, *, encoded: bool) -> None:
        """Add bytes that came; a log that is captured without them has none."""
        if self.kept and "bytes" in event.params:
            (self.encoded if encoded else self.decoded).extend(base64.b64decode(event.params["bytes"]))
            if encoded or not self.encoded:
                self.arrivals.append((event.tick, len(self.encoded or self.decoded)))
