"""What sources are asked for, and what they answer."""

from dataclasses import dataclass
from datetime import datetime

from harness.files.headers import Headers, header_in


@dataclass(frozen=True)
class ArchivedAnswer:
    """One recorded answer. `body` is as on the wire, content-encoded, without chunks. `captured` is when it came.

    `protocol` is the recorded one as HAR names it ("HTTP/1.1", "h2"), "" where nobody wrote it down. `connect_ms` is
    how long the TCP handshake took, `wait_ms` the wait for the first byte, None where that is not known.
    """

    url: str
    status: int
    reason: str
    headers: Headers
    body: bytes
    protocol: str = ""
    captured: datetime | None = None
    stand_in: bool = False
    """Whether it was recorded for another URL than the one it answers."""
    cut: bool = False
    """Whether NULs stand in the place of its end, which the source lacks."""
    is_noise: bool = False
    """Whether its body cannot be what it is called: the source has the answer without its body."""
    recoded: str = ""
    """The Content-Encoding that it had, where nobody can make that again, and another stands for it."""
    connect_ms: float | None = None
    wait_ms: float | None = None

    def header(self, wanted: str) -> str:
        """Return the value of a header, "" without it."""
        return header_in(self.headers, wanted)


@dataclass(frozen=True)
class ArchivedRequest:
    """What is asked for. `body` is hashed, `navigation` is whether the answer is to be a document.

    `by_page`: a page asks, which names itself as the Referer; the first navigation has none.
    """

    method: str
    url: str
    body: bytes = b""
    navigation: bool = False
    by_page: bool = False
    origin: str = ""
    range: str = ""
    """The header Range: which part of the body is asked for; "" for all of it."""
