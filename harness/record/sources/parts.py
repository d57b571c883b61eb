"""Parts of bodies (RFC 9110, section 14) in what others recorded: which one holds what is asked for, and its bytes.

Players of videos ask for parts, and refuse a 206 that does not say which part it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from harness.mirror.answers import RecordedAnswer
from harness.mirror.headers import replayed
from harness.mirror.ranges import NotSatisfiableError, Span, wanted_span
from harness.record.sources.archived import ArchivedAnswer

CONTENT_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)", re.ASCII)
OF_WHOLE_BODY = frozenset(("content-length", "content-range"))


@dataclass(frozen=True)
class Held:
    """Which bytes of a body of `size` an answer has: from `start` up to but without `end`."""

    start: int
    end: int
    size: int

    @property
    def whole(self) -> bool:
        """Whether these are all."""
        return self.end - self.start == self.size


def bytes_in_part(content_range: str) -> int:
    """Return how many bytes a part has by its Content-Range, 0 where that does not say it."""
    match = CONTENT_RANGE.fullmatch(content_range.strip())
    return int(match[2]) - int(match[1]) + 1 if match and match[1] else 0


def held_by(answer: ArchivedAnswer) -> Held | None:
    """Return what a 206 has; None for any other answer, and for one that does not say it, such as several parts."""
    match = CONTENT_RANGE.fullmatch(answer.header("content-range").strip())
    if answer.status != HTTPStatus.PARTIAL_CONTENT or match is None or match[1] is None:
        return None
    start, end = int(match[1]), int(match[1]) + len(answer.body)
    return Held(start, end, max(end, int(match[3])) if match[3] != "*" else end)


def wanted_of(held: Held, asked: str) -> Span | None:
    """Return what the header Range asks for of a body that was sent in parts. Raises NotSatisfiableError."""
    whole = RecordedAnswer(HTTPStatus.OK, headers=(("accept-ranges", "bytes"),))
    return wanted_span(whole, {"range": asked}, held.size)


def range_answer(answer: ArchivedAnswer, asked: Mapping[str, str]) -> ArchivedAnswer:
    """Return `answer` as a server sends it to a GET with these headers: the wanted part of its body, or all of it."""
    part = held_by(answer)
    held = part or Held(0, len(answer.body), len(answer.body))
    try:
        span = (wanted_of(part, asked.get("range", "")) if part is not None else
                wanted_span(RecordedAnswer(answer.status, headers=replayed(answer.headers)), asked, held.size))
        if span is not None and not held.start <= span.start < held.end:
            raise NotSatisfiableError
    except NotSatisfiableError:
        return _with_range(answer, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"bytes */{held.size}", b"")
    if span is None:
        return _with_range(answer, HTTPStatus.OK, "", answer.body) if part is not None and part.whole else answer
    end = min(span.end, held.end)
    return _with_range(answer, HTTPStatus.PARTIAL_CONTENT, f"bytes {span.start}-{end - 1}/{held.size}",
                       answer.body[span.start - held.start:end - held.start])


def content_range_of(answer: ArchivedAnswer) -> str:
    """Return the Content-Range to send with an answer, "" for none."""
    match = CONTENT_RANGE.fullmatch(answer.header("content-range").strip())
    tells = answer.status in (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    return match[0] if match and tells else ""


def _with_range(answer: ArchivedAnswer, status: HTTPStatus, content_range: str, body: bytes) -> ArchivedAnswer:
    headers = tuple(pair for pair in answer.headers if pair[0].lower() not in OF_WHOLE_BODY)
    if content_range:
        headers = (*headers, ("Content-Range", content_range))
    return replace(answer, status=status, reason=status.phrase, headers=headers, body=body)
