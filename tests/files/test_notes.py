"""To a student's notes a table is added, or nothing: where it could not be read beside what is there."""

import codecs
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.notes import add_to_notes, check_notes, text_of

SEEN = "What I see: é, 漢\n"
TABLE = "\nPage\tRTT(ms)\nhttpa.org\n"
KEPT = {"UTF-8": SEEN.encode(), "UTF-8 with a mark": codecs.BOM_UTF8 + SEEN.encode(), "nothing yet": b""}
REFUSED = {"UTF-16": SEEN.encode("utf-16"), "big-endian": codecs.BOM_UTF16_BE + SEEN.encode("utf-16-be"),
           "Latin-1": "é".encode("latin-1")}


@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_what_is_added_reads_as_what_was_there_does(content: bytes, tmp_path: Path) -> None:
    notes, link = tmp_path / "observations.txt", tmp_path / "link"
    link.symlink_to(notes)
    notes.write_bytes(content)
    for path in (notes, link):
        check_notes(path)
        add_to_notes(path, TABLE)
    assert text_of(notes.read_bytes()) == text_of(content) + 2 * TABLE


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_nothing_is_added_to_another_encoding(content: bytes, tmp_path: Path) -> None:
    notes = tmp_path / "observations.txt"
    notes.write_bytes(content)
    with pytest.raises(InputError, match=r"observations\.txt:1: "):
        check_notes(notes)


def test_notes_in_utf_16_are_read() -> None:
    assert text_of(REFUSED["UTF-16"]) == text_of(REFUSED["big-endian"]) == SEEN
