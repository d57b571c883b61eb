"""Heads over HTTP/2: what is written here hpack reads, and what hpack writes is read here, whatever the tables hold."""

import pytest
from hpack import Decoder, Encoder, HPACKError
from hyperframe.frame import ContinuationFrame, Frame, HeadersFrame
from hypothesis import given
from hypothesis import strategies as st

from harness.netlog.socket_bytes import HeadSizes
from harness.replay.heads import (
    DATA,
    FRAME_LIMIT,
    MOST_FIELDS,
    MOST_PADDING,
    STATIC,
    TABLE_BYTES,
    Field,
    HeadDecoder,
    HeadEncoder,
    frame,
    head_frames,
    literals,
)

FEW = st.sampled_from(["x", "cache-control", "date", "a" * 130, "\xff\x00", "", "x" * 4100, "z" * 1000])
LATIN = st.characters(max_codepoint=255)
FIELDS = st.tuples(FEW | st.text(LATIN, max_size=40), FEW | st.text(LATIN, max_size=300)) | st.sampled_from(STATIC)
HEADS = st.lists(FIELDS, max_size=12)
TABLES = st.sampled_from([None, 0, 100, 300, 4096, 65_536])
"""How large the client says its table is before the next head; None: it says nothing."""
SESSIONS = st.lists(st.tuples(TABLES, HEADS, st.sampled_from([0, 30, 300, 5000])), max_size=6)


def wired(fields: list[Field]) -> list[tuple[bytes, bytes]]:
    """Return fields as they cross the network."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]


@given(SESSIONS)
def test_hpack_reads_what_is_written(session: list[tuple[int | None, list[Field], int]]) -> None:
    encoder, decoder = HeadEncoder(), Decoder(max_header_list_size=10**6)
    for table, fields, size in session:
        if table is not None:
            encoder.resize(table)
            decoder.max_allowed_table_size = table
        assert [tuple(field) for field in decoder.decode(encoder.encode(fields, size), raw=True)] == wired(fields)


@given(SESSIONS)
def test_what_hpack_writes_is_read(session: list[tuple[int | None, list[Field], int]]) -> None:
    encoder, decoder = Encoder(), HeadDecoder()
    for table, fields, size in session:
        if table is not None and table <= TABLE_BYTES:
            encoder.header_table_size = table
        written = [(name, value, place == 1) for place, (name, value) in enumerate(wired(fields))]  # one never indexed
        assert decoder.decode(encoder.encode(written, huffman=size > 0)) == fields


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_noise_is_refused_as_hpack_refuses_it(blocks: list[bytes]) -> None:
    ours, theirs = HeadDecoder(), Decoder()
    for block in blocks:
        try:
            wanted = [tuple(field) for field in theirs.decode(block, raw=True)]
        except (HPACKError, IndexError):
            with pytest.raises((HPACKError, IndexError, ValueError)):
                ours.decode(block)
            return
        assert wired(ours.decode(block)) == wanted


def test_a_head_that_grows_too_large_is_refused() -> None:
    decoder = HeadDecoder()
    decoder.decode(Encoder().encode([(b"x", b"y" * 1000)]))
    with pytest.raises(ValueError):
        decoder.decode(b"\xbe" * (MOST_FIELDS + 1))


@given(HEADS)
def test_no_head_is_larger_than_hpack_writes_it(fields: list[Field]) -> None:
    ours, theirs = HeadEncoder(), Encoder()
    for _ in range(2):
        assert len(ours.encode(fields)) <= len(theirs.encode(wired(fields)))


@given(HEADS.filter(bool), st.integers(0, 20_000))
def test_a_head_in_full_has_the_size_that_is_asked_for(fields: list[Field], size: int) -> None:
    """Or it is as short, or as long, as it can be."""
    longest = literals(tuple(fields), 2**30)
    assert longest is not None
    block = literals(tuple(fields), size)
    if block is None:
        assert literals(tuple(fields), len(longest)) == longest
        assert size < len(longest)
        return
    assert len(block) <= size
    payloads = list(_frames(head_frames(5, block, ends=True, size=size)))
    whole = sum(len(payload) for _, payload in payloads)
    if size <= FRAME_LIMIT:
        assert whole == min(size, len(block) + MOST_PADDING)
    assert b"".join(frame.data for frame, _ in payloads) == block
    assert [("END_STREAM" in frame.flags, "END_HEADERS" in frame.flags) for frame, _ in payloads] == [
        (place == 0, place == len(payloads) - 1) for place in range(len(payloads))]


ANSWERS = st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=50) | st.just(bytes(40_000)),
                             st.integers(0, 200), st.booleans()), max_size=5)
"""Whether a 103 comes first, the head, how much it is padded, and whether trailers follow the body."""


@given(ANSWERS, st.lists(st.integers(1, 30), min_size=1, max_size=9))
def test_sizes_of_heads_are_read_in_pieces(answers: list[tuple[bool, bytes, int, bool]], cuts: list[int]) -> None:
    came, wanted = frame(0, 4, 0, b""), {}
    for stream, (hinted, head, padding, trailed) in enumerate(answers, start=1):
        came += head_frames(stream, b"103", ends=False) if hinted else b""
        came += head_frames(stream, head, ends=False, size=len(head) + padding)
        came += frame(stream, DATA, 0, b"\0\0\1\1" * 9)
        came += head_frames(stream, b"trailers", ends=True) if trailed else b""
        wanted[stream] = len(head) + (padding if len(head) < FRAME_LIMIT else 0)
    sizes, at = HeadSizes(), 0
    for number in range(len(came)):
        if at >= len(came):
            break
        size = cuts[number % len(cuts)]
        sizes.add(came[at:at + size])
        at += size
    assert sizes.by_stream == wanted


def _frames(data: bytes) -> list[tuple[HeadersFrame | ContinuationFrame, bytes]]:
    """Return the frames as hyperframe reads them, and the payload of each."""
    found = []
    while data:
        frame, length = Frame.parse_frame_header(memoryview(data[:9]))
        assert isinstance(frame, (HeadersFrame, ContinuationFrame))
        assert (frame.stream_id, length <= FRAME_LIMIT) == (5, True)
        frame.parse_body(memoryview(data[9:9 + length]))
        found.append((frame, data[9:9 + length]))
        data = data[9 + length:]
    return found
