"""Parts of bodies: what a player of videos asks for, and what it gets."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.server_log import FoundAs
from harness.mirror.answers import RecordedAnswer
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
ANSWER = RecordedAnswer(200, headers=tuple((name.lower(), value) for name, value in RANGES))


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


def test_a_site_that_knew_no_ranges_sends_everything(written: Written) -> None:
    written.add("/v.mp4", "video", headers=[("Content-Type", "video/mp4")])
    reply, body = fetch(written, written.site(), {"range": "bytes=1-2"})
    assert (reply.status, body) == (200, b"video")


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


@pytest.mark.parametrize("status", [416, 503])
def test_an_error_takes_no_recorded_parts_away(written: Written, status: int) -> None:
    """A script that reads on until there is no more, or a server that was busy once: all of it was an error then."""
    add_part(written, 0, 5)
    written.add("/v.mp4", "an error", status=status)
    add_part(written, 6, 9)
    written.add("/v.mp4", "an error", status=status)
    site = written.site()
    for first in (0, 6):
        reply, body = fetch(written, site, {"range": f"bytes={first}-"})
        assert (reply.status, body) == (206, b"0123456789"[first:])
    assert fetch(written, site, {"range": "bytes=10-"})[0].status == 416


def test_an_error_before_the_first_part_keeps_its_turn(written: Written) -> None:
    written.add("/v.mp4", "not without a token", status=403)
    add_part(written, 0, 9)
    site = written.site()
    assert [fetch(written, site, {"range": "bytes=0-"})[0].status for _ in range(3)] == [403, 206, 206]


def test_each_page_has_its_own_errors_beside_parts(written: Written, tmp_path: Path) -> None:
    """The first page got its error for ever, as the part that was kept was another page's; the third one's went."""
    recorded: dict[str, list[int]] = {"1": [403, 206], "2": [206], "3": [403]}
    for page, statuses in recorded.items():
        for status in statuses:
            if status == 206:
                add_part(written, 0, 9, page)
            else:
                written.add("/v.mp4", "not without a token", status=status, page=page)
    make_mark(tmp_path / "mark")
    site = Site(written.read(), HOST, "https", LoadMark(tmp_path / "mark"))
    for page, asked in (("1", [403, 206]), ("2", [206, 206]), ("3", [403, 403])):
        mark_load(tmp_path / "mark", page)
        assert [fetch(written, site, {"range": "bytes=0-"})[0].status for _ in range(2)] == asked


def test_a_gap_between_recorded_parts_is_no_part(written: Written) -> None:
    add_part(written, 0, 3)
    add_part(written, 8, 9)
    site = written.site()
    assert fetch(written, site, {"range": "bytes=8-"})[1] == b"89"
    reply, body = fetch(written, site, {"range": "bytes=2-"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"23", "bytes 2-3/10")
    assert fetch(written, site, {"range": "bytes=5-"})[0].status == 416


def test_a_beginning_is_not_said_to_be_the_whole_body(written: Written) -> None:
    add_part(written, 0, 3)
    add_part(written, 8, 9)
    reply, body = fetch(written, written.site(), {})
    assert (reply.status, body, reply.found) == (200, b"0123", FoundAs.BEST_MATCH)


def test_a_player_that_gave_up_all_of_it_for_the_end_gets_both(written: Written) -> None:
    """What players do with a film whose index stands at its end: the first answer is of `bytes=0-`."""
    headers = [("Content-Range", "bytes 0-9/10"), ("Content-Type", "video/mp4")]
    written.add("/v.mp4", "0123", status=206, headers=headers, _partial=True)
    written.add("/v.mp4", "89", status=206, headers=[("Content-Range", "bytes 8-9/10"), *headers[1:]])
    site = written.site()
    reply, body = fetch(written, site, {"range": "bytes=0-"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"0123", "bytes 0-3/10")
    assert fetch(written, site, {"range": "bytes=8-"})[1] == b"89"


def test_what_was_fetched_again_is_all_of_it(written: Written) -> None:
    headers = [("Content-Range", "bytes 4-9/10"), ("Content-Type", "video/mp4")]
    written.add("/v.mp4", "0123456789", status=206, headers=headers, _refetched=True)
    written.add("/v.mp4", "89", status=206, headers=[("Content-Range", "bytes 8-9/10"), *headers[1:]])
    reply, body = fetch(written, written.site(), {"range": "bytes=2-5"})
    assert (reply.status, body, dict(reply.headers)["content-range"]) == (206, b"2345", "bytes 2-5/10")


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
