"""Heads over HTTP/2: what is written here hpack reads, and what hpack writes is read here, whatever the tables hold."""

import pytest
from hpack import Decoder, Encoder, HPACKError
from hypothesis import given
from hypothesis import strategies as st

from harness.replay.heads import STATIC, TABLE_BYTES, Field, HeadDecoder, HeadEncoder

FEW = st.sampled_from(["x", "cache-control", "date", "a" * 130, "\xff\x00", "", "x" * 4100, "z" * 1000])
LATIN = st.characters(max_codepoint=255)
NGINX = ("server", "nginx/1.22.1")
FIELDS = st.tuples(FEW | st.text(LATIN, max_size=40), FEW | st.text(LATIN, max_size=300)) | st.sampled_from(
    [*STATIC, NGINX])
HEADS = st.lists(FIELDS, max_size=12)
TABLES = st.sampled_from([None, 0, 100, 300, 4096, 65_536])
"""How large the client says its table is before the next head; None: it says nothing."""
SESSIONS = st.lists(st.tuples(TABLES, HEADS, st.booleans()), max_size=6)


def wired(fields: list[Field]) -> list[tuple[bytes, bytes]]:
    """Return fields as they cross the network."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]


@given(SESSIONS)
def test_hpack_reads_what_is_written(session: list[tuple[int | None, list[Field], bool]]) -> None:
    encoder, decoder = HeadEncoder(), Decoder(max_header_list_size=10**6)
    for table, fields, _ in session:
        if table is not None:
            encoder.resize(table)
            decoder.max_allowed_table_size = table
        assert [tuple(field) for field in decoder.decode(encoder.encode(fields), raw=True)] == wired(fields)


@given(SESSIONS)
def test_what_hpack_writes_is_read(session: list[tuple[int | None, list[Field], bool]]) -> None:
    encoder, decoder = Encoder(), HeadDecoder()
    for table, fields, huffman in session:
        if table is not None and table <= TABLE_BYTES:
            encoder.header_table_size = table
        written = [(name, value, place == 1) for place, (name, value) in enumerate(wired(fields))]  # one never indexed
        assert decoder.decode(encoder.encode(written, huffman=huffman)) == fields


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


@pytest.mark.parametrize(("server", "in_full"), [("nginx", True), ("openresty", True), ("Tengine", True), ("x", False)])
def test_nginx_writes_every_head_in_full(server: str, in_full: bool) -> None:
    encoder, fields = HeadEncoder(), [(":status", "200"), ("x-long", "abc " * 20), ("server", server)]
    encoder.encode(fields)
    assert (len(encoder.encode(fields)) > 60) == in_full
