"""One request and its answer, as a browser had it, with the phases that a HAR wants (harness.files.har)."""

from dataclasses import dataclass

from harness.files.exchange import Phases
from harness.files.headers import EVENT_STREAM

NOT_APPLICABLE = -1.0


@dataclass(frozen=True)
class HttpTransaction:
    """One request and its answer. `start` and `end` are ticks; `end` is None when it was not over when the log ended.

    `error` is "" or Chrome's name such as net::ERR_ABORTED, `status` 0 when no head of an answer came. `body_bytes`
    came over the network (still compressed; 0 from the cache, and for a redirect, whose body Chrome does not read),
    `content_bytes` is what the page got. `connection` is the id of the socket, None when there was none. `sends` is
    over 1 when Chrome had to send again because a reused connection was dead. Of cookies Chrome logs the length only.
    """

    source: int
    hop: int
    url: str
    method: str
    main_frame: bool
    initiator: str
    start: int
    end: int | None
    http_version: str
    status: int
    status_text: str
    mime_type: str
    charset: str
    request_line: str
    request_headers: tuple[tuple[str, str], ...]
    response_headers: tuple[tuple[str, str], ...]
    redirect_url: str | None
    error: str
    body_bytes: int
    content_bytes: int
    from_cache: bool
    connection: int | None
    sends: int
    phases: Phases
    early_hints: tuple[tuple[str, str], ...] = ()
    """Headers of a 103 that came before the answer (RFC 8297)."""
    hinted: int | None = None
    """When it came."""
    synchronous: bool = False
    """Whether the page's thread stood still until the answer was there (XMLHttpRequest's third argument)."""

    def is_stream(self, *, over: bool) -> bool:
        """Say whether the answer is a stream: of events, or one of unknown length that is not `over`."""
        length_is_known = any(name.lower() == "content-length" for name, _ in self.response_headers)
        return self.status == 200 and (self.mime_type == EVENT_STREAM or not (over or length_is_known))
