"""Bodies between the form in which archives keep them and the one in which they crossed the network."""

from dataclasses import replace

from harness.mirror.encoding import decode, encode
from harness.record.sources.archived import ArchivedAnswer

Pairs = tuple[tuple[str, str], ...]


def without_chunks(body: bytes) -> bytes:
    """Return a body without the framing of Transfer-Encoding: chunked (RFC 9112, section 7.1); as it is if it has none.

    Some archives say "chunked" of bodies whose chunks were joined already. A stream that was broken off between two
    chunks lacks the last one, which is empty.
    """
    joined = bytearray()
    at = 0
    while at < len(body) or not joined:
        end = body.find(b"\r\n", at)
        try:
            size = int(body[at:end].partition(b";")[0], 16) if end > at else -1
        except ValueError:
            return body
        if size < 0 or len(body) < end + 2 + size:
            return body
        if size == 0:
            break
        joined += body[end + 2:end + 2 + size]
        at = end + 2 + size + 2
    return bytes(joined)


def honest_encoding(headers: Pairs, body: bytes) -> Pairs:
    """Return `headers` without a Content-Encoding that `body` does not have: archives that decode often keep it."""
    encoding = next((value for name, value in headers if name.lower() == "content-encoding"), "")
    if not encoding or decode(body, encoding)[1]:
        return headers
    return tuple((name, value) for name, value in headers if name.lower() != "content-encoding")


def as_accepted(answer: ArchivedAnswer, accepted: str) -> ArchivedAnswer:
    """Return an answer in an encoding that a request's Accept-Encoding names (RFC 9110, section 12.5.3), or in gzip.

    Over http browsers take no ``br`` or ``zstd``, which a crawler may have asked for.
    """
    named = answer.header("content-encoding").strip().lower()
    offered = {part.partition(";")[0].strip().lower() for part in accepted.split(",")}
    if named in {"", "identity", *offered} or "gzip" not in offered:
        return answer
    body, known = decode(answer.body, named)
    if not known:
        return answer
    zipped, gzip_name = encode(body, "gzip", len(answer.body))
    kept = tuple(pair for pair in answer.headers if pair[0].lower() not in ("content-encoding", "content-length"))
    return replace(answer, headers=(*kept, ("Content-Encoding", gzip_name)), body=zipped)
