"""Page-shape files: written, read, refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.synthetic.build import make_pages
from harness.synthetic.shape import COLUMNS, HEADING, SHAPE_FILE, format_shapes, read_shapes
from tests.support.made_shapes import RESOURCE, SHAPE

PAGE = "page\thttp://a.test/\t2026-11\t0"
ROW = dict(zip(COLUMNS, format_shapes([replace(SHAPE, resources=[RESOURCE])]).splitlines()[-1].split("\t"),
               strict=True))
"""The columns of a page's own document."""
SECOND = {**ROW, "index": "1", "parent": "0", "path_chars": "6", "kind": "image"}


def lines_with(row: dict[str, str], **others: str) -> list[str]:
    return [PAGE, *("\t".join(columns.values()) for columns in ([ROW] if row is SECOND else [])),
            "\t".join({**row, **others}.values())]


def test_a_file_is_read_as_it_was_written() -> None:
    assert format_shapes(read_shapes()) == SHAPE_FILE.read_text(encoding="ascii")


@pytest.mark.parametrize(("lines", "at"), [
    ([PAGE], 1), ([PAGE.rpartition("\t")[0]], 4), (lines_with(ROW)[1:], 4), (["http2\tb.test", PAGE], 4),
    ([PAGE, "http2\t../x"], 5), ([PAGE.replace("2026-11", "2026-13")], 4), ([PAGE.replace("2026-11", "today")], 4),
    ([PAGE, "\t".join([*ROW.values()][:-1])], 5), ([PAGE, "\t".join([*ROW.values(), "0"])], 5),
    (lines_with(ROW, index="1"), 5), (lines_with(ROW, parent="0"), 5), (lines_with(ROW, redirect_to="0"), 5),
    (lines_with(ROW, redirect_to="7"), 1), (lines_with(ROW, host="-"), 5), (lines_with(ROW, host="../x"), 5),
    (lines_with(ROW, scheme="ftp"), 5), (lines_with(ROW, size_bytes="many"), 5), (lines_with(ROW, size_bytes="-"), 5),
    (lines_with(ROW, path_chars="0"), 5), (lines_with(SECOND, path_chars=str(2**21 + 1)), 6),
    (lines_with(SECOND, size_bytes=str(2**29 + 1)), 1), (lines_with(SECOND, parent="1"), 6),
    (lines_with(SECOND, parent="-"), 6), (lines_with(SECOND, redirect_to="1"), 6), (lines_with(ROW, kind="thing"), 5),
    (lines_with(ROW, work_ms="-1"), 5), (lines_with(ROW, work_ms="٣"), 1), (lines_with(ROW, after_load="2"), 5),
    (lines_with(ROW, way="-"), 5), (lines_with(ROW, blocking="yes"), 5), (lines_with(ROW, priority="Lowest"), 5),
    (lines_with(ROW, seen=""), 5)])
def test_a_line_that_cannot_be_right_is_refused_by_its_number(lines: list[str], at: int, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    path.write_text("\n".join([*HEADING.splitlines(), "format\t5", *lines]) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:{at}: "):
        read_shapes(path)


@pytest.mark.parametrize("text", [None, "", "format\t4\n" + "\n".join(lines_with(ROW)), "format\t6\n",
                                  "\n".join(lines_with(ROW))])
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
