"""Parts of bodies: what a player of videos asks for, and what it gets."""

import os
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.exchange import Answer
from harness.mirror.asked import Asked
from harness.mirror.ranges import NotSatisfiableError, Span, wanted_span
from harness.replay.body import BodyReader, Piece
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site
from tests.support.written import HOST, Written

VIDEO = bytes(range(256)) * 8
SIZE = len(VIDEO)
RANGES = [("Accept-Ranges", "bytes"), ("Content-Type", "video/mp4"), ("ETag", '"1"'), ("Last-Modified", "then")]
ANSWER = Answer(200, headers=tuple((name.lower(), value) for name, value in RANGES))


@pytest.mark.parametrize(("text", "wanted"), [
    ("bytes=0-", (0, SIZE)), ("bytes=100-", (100, SIZE)), ("bytes=100-199", (100, 200)),
    ("bytes=0-99999", (0, SIZE)), ("bytes=-10", (SIZE - 10, SIZE)), ("bytes=-99999", (0, SIZE)),
    ("BYTES=5-5", (5, 6)), ("bytes=9-5", None), ("lines=1-2", None), ("bytes=x", None), ("", None)])
def test_which_bytes(text: str, wanted: tuple[int, int] | None) -> None:
    span = wanted_span(ANSWER, {"range": text}, SIZE)
    assert span == (Span(*wanted) if wanted else None)


@pytest.mark.parametrize("text", [f"bytes={SIZE}-", "bytes=-0", "bytes=0-1,5-6", "bytes=0-0,-1"])
def test_what_cannot_be_sent(text: str) -> None:
    with pytest.raises(NotSatisfiableError):
        wanted_span(ANSWER, {"range": text}, SIZE)


@pytest.mark.parametrize(("validator", "part"), [
    ('"1"', True), ('"2"', False), ('W/"1"', False), ("then", True), ("now", False)])
def test_if_range(validator: str, part: bool) -> None:
    assert (wanted_span(ANSWER, {"range": "bytes=1-2", "if-range": validator}, SIZE) is not None) == part


@given(st.text(max_size=40) | st.from_regex(r"\Abytes=[0-9]{0,25}-[0-9]{0,25}\Z"), st.integers(0, 10**6))
def test_no_text_leads_out_of_the_body(text: str, size: int) -> None:
    try:
        span = wanted_span(ANSWER, {"range": text}, size)
    except NotSatisfiableError:
        return
    assert span is None or 0 <= span.start < span.end <= size


def fetch(written: Written, site: Site, asked: Mapping[str, str]) -> tuple[Reply, bytes]:
    """Return the reply to a GET of the video, and its body."""
    directory = os.open(written.directory / "Web" / HOST, os.O_PATH)
    try:
        with reply_to(site, {HOST: directory}, Request("GET", "/v.mp4", Asked(dict(asked)))) as reply:
            size = reply.size or 0
            body = b""
            while chunk := reply.read(1000):
                body += chunk
        assert len(body) == size
        return reply, body
    finally:
        os.close(directory)


def test_a_part_of_a_whole_body(written: Written) -> None:
    written.add("/v.mp4", VIDEO.decode("latin-1"), headers=RANGES)
    site = written.site()
    whole = (written.directory / "Web" / HOST / "body-0").read_bytes()
    reply, body = fetch(written, site, {"range": "bytes=100-"})
    assert (reply.status, body) == (206, whole[100:])
    assert dict(reply.headers)["content-range"] == f"bytes 100-{len(whole) - 1}/{len(whole)}"
    assert dict(reply.headers)["accept-ranges"] == "bytes"
    reply, body = fetch(written, site, {})
    assert (reply.status, body) == (200, whole)
    reply, body = fetch(written, site, {"range": "bytes=0-1,4-5"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (416, b"", f"bytes */{len(whole)}")


def add_part(written: Written, first: int, last: int, page: str = "page") -> None:
    """Record one part of the body "0123456789"."""
    written.add("/v.mp4", "0123456789"[first:last + 1], status=206, page=page, headers=[
        ("Content-Range", f"bytes {first}-{last}/10"), ("Content-Type", "video/mp4")], _partial=True)


def test_recorded_parts_are_joined(written: Written) -> None:
    for first, last in ((0, 3), (6, 9), (4, 6)):
        add_part(written, first, last)
    site = written.site()
    assert fetch(written, site, {})[1] == b"0123456789"
    reply, body = fetch(written, site, {"range": "bytes=2-8"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"2345678", "bytes 2-8/10")


def test_a_gap_between_recorded_parts_is_no_part(written: Written) -> None:
    add_part(written, 0, 3)
    add_part(written, 8, 9)
    site = written.site()
    assert fetch(written, site, {"range": "bytes=8-"})[1] == b"89"
    reply, body = fetch(written, site, {"range": "bytes=2-"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"23", "bytes 2-3/10")
    assert fetch(written, site, {"range": "bytes=5-"})[0].status == 416


def test_a_player_that_gave_up_all_of_it_for_the_end_gets_both(written: Written) -> None:
    """What players do with a film whose index stands at its end: the first answer is of `bytes=0-`."""
    headers = [("Content-Range", "bytes 0-9/10"), ("Content-Type", "video/mp4")]
    written.add("/v.mp4", "0123", status=206, headers=headers, _partial=True)
    written.add("/v.mp4", "89", status=206, headers=[("Content-Range", "bytes 8-9/10"), *headers[1:]])
    site = written.site()
    reply, body = fetch(written, site, {"range": "bytes=0-"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"0123", "bytes 0-3/10")
    assert fetch(written, site, {"range": "bytes=8-"})[1] == b"89"


@given(st.lists(st.tuples(st.integers(0, 30), st.binary(min_size=1, max_size=10)), min_size=1, max_size=6),
       st.integers(0, 40), st.integers(1, 40))
def test_a_body_of_pieces_is_what_lies_side_by_side(pieces: list[tuple[int, bytes]], start: int, length: int) -> None:
    content: dict[int, set[int]] = {}
    made = []
    for at, data in pieces:
        file = os.memfd_create("piece")
        os.write(file, data)
        made.append(Piece(file, at))
        for place, byte in enumerate(data, start=at):
            content.setdefault(place, set()).add(byte)
    body = BodyReader(made)
    body.select(Span(start, start + length))
    read = b""
    while chunk := body.read(3):
        read += chunk
    body.close()
    assert all(byte in content[start + place] for place, byte in enumerate(read))
    assert len(read) == length or start + len(read) not in content
