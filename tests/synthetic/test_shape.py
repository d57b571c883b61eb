"""Page-shape files: written, read, refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.synthetic.build import make_pages
from harness.synthetic.shape import COLUMNS, HEADING, SHAPE_FILE, format_shapes, read_shapes
from tests.support.beside import cases
from tests.support.made_shapes import RESOURCE, SHAPE

PAGE = "page\thttp://a.test/\t2026-11\t0"
ROW = dict(zip(COLUMNS, format_shapes([replace(SHAPE, resources=[RESOURCE])]).splitlines()[-1].split("\t"),
               strict=True))
"""The columns of a page's own document."""
SECOND = {**ROW, "index": "1", "parent": "0", "path_chars": "6", "kind": "image"}


def test_a_file_is_read_as_it_was_written() -> None:
    assert format_shapes(read_shapes()) == SHAPE_FILE.read_text(encoding="ascii")


@pytest.mark.parametrize("case", cases(__file__, "refused_shapes.jsonl"), ids=str)
def test_a_line_that_cannot_be_right_is_refused_by_its_number(case: dict[str, Any], tmp_path: Path) -> None:
    """`document`, `image`: what is changed in the line of the page's own document, or of an image below it."""
    lines = case.get("lines") or [PAGE, *("\t".join({**row, **case.get(kind, {})}.values()) for kind, row in (
        ("document", ROW), ("image", SECOND))[:1 + ("image" in case)])]
    path = tmp_path / "page.shape"
    path.write_text("\n".join([*HEADING.splitlines(), "format\t5", *lines]) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:{case['at']}: "):
        read_shapes(path)


WHOLE = "\n".join([PAGE, "\t".join(ROW.values())])


@pytest.mark.parametrize("text", [None, "", f"format\t4\n{WHOLE}", "format\t6\n", WHOLE])
def test_another_format_and_a_missing_file_are_refused(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "page.shape").write_text(text)
    with pytest.raises(InputError, match=r"page\.shape:1: "):
        read_shapes(tmp_path / "page.shape")


def test_a_page_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(format_shapes([SHAPE]))
    (tmp_path / "Set.pages").write_text("http://elsewhere.test/\n")
    with pytest.raises(InputError, match=r"Set\.pages:1: "):
        make_pages(tmp_path, "Set", 1, tmp_path / "page.shape")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Set.pages", "page.shape"], "nothing is half made"
