"""To a student's notes a table is added, also through a link. Which texts are none: tests/corpus/texts.jsonl."""

from pathlib import Path

import pytest

from harness.files.notes import add_to_notes, check_notes

TABLE = "\nPage\tRTT(ms)\nhttpa.org\n"


@pytest.mark.parametrize("seen", ["What I see: é, 漢\n", "\ufeffwith a mark", ""])
def test_a_table_is_added_to_what_was_there(seen: str, tmp_path: Path) -> None:
    notes, link = tmp_path / "observations.txt", tmp_path / "link"
    link.symlink_to(notes)
    notes.write_text(seen, "utf-8")
    for path in (notes, link):
        check_notes(path)
        add_to_notes(path, TABLE)
    assert notes.read_text("utf-8") == seen + 2 * TABLE
