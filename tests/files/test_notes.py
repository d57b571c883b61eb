"""A student's notes keep their encoding when a table is added to them, or nothing is added."""

import codecs
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.notes import add_to_notes, encoding_of_notes, text_of

SEEN = "What I see: é, 漢\n"
TABLE = "\nPage\tRTT(ms)\nhttpa.org\n"
KEPT = {"UTF-8": SEEN.encode(), "UTF-8 with a mark": codecs.BOM_UTF8 + SEEN.encode(), "nothing yet": b"",
        "UTF-16": codecs.BOM_UTF16_LE + SEEN.encode("utf-16-le"), "only a mark": codecs.BOM_UTF16_LE,
        "UTF-16, big-endian": codecs.BOM_UTF16_BE + SEEN.encode("utf-16-be"), "Latin-1": "é".encode("latin-1")}
@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_what_is_added_reads_as_what_was_there_does(content: bytes, tmp_path: Path) -> None:
    notes = tmp_path / "observations.txt"
    notes.write_bytes(content)
    add_to_notes(notes, TABLE, encoding_of_notes(notes))
    assert notes.read_bytes().startswith(content)
    assert text_of(notes.read_bytes()) == text_of(content) + TABLE


def test_a_letter_that_an_unknown_encoding_may_lack_is_not_added(tmp_path: Path) -> None:
    notes = tmp_path / "observations.txt"
    notes.write_bytes(KEPT["Latin-1"])
    with pytest.raises(InputError, match=r"observations\.txt:1: "):
        add_to_notes(notes, "é", encoding_of_notes(notes))
    assert notes.read_bytes() == KEPT["Latin-1"]


def test_notes_that_do_not_exist_yet_and_links_to_notes(tmp_path: Path) -> None:
    notes, link = tmp_path / "observations.txt", tmp_path / "link"
    link.symlink_to(notes)
    for path in (notes, link):
        add_to_notes(path, TABLE, encoding_of_notes(path))
    assert notes.read_text() == 2 * TABLE
