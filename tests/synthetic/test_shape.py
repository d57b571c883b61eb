"""Page-shape files: written, read, refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.synthetic.build import make_pages
from harness.synthetic.shape import HEADING, format_shapes, read_shapes
from tests.support.made_shapes import SHAPE, WANTED


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    wanted = replace(SHAPE, url="http://other.test/", work_ms=0, resources=WANTED)
    path.write_text(format_shapes([SHAPE, wanted]))
    assert read_shapes(path) == [SHAPE, wanted]


ROW = ["0", "a.test", "http", "text/html", "-", "100", "1", "-", "-", "0", "9", "document", "0", "0", "0"]


@pytest.mark.parametrize(("row", "problem"), [
    ([*ROW[:11], "thing", "0", "0", "0"], "kind thing"), ([*ROW[:12], "-1", "0", "0"], "work_ms -1"),
    (ROW[:11], "11 columns"), ([*ROW[:2], "ftp", *ROW[3:]], "a scheme is"),
    ([*ROW[:6], "0", *ROW[7:]], "at least its slash")])
def test_a_line_that_cannot_be_right_is_refused(row: list[str], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    path.write_text(HEADING + "format\t2\npage\thttp://a.test/\t2026-11\t0\n" + "\t".join(row) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:5: .*{problem}"):
        read_shapes(path)


@pytest.mark.parametrize(("lines", "problem"), [("http2\tb.test\npage\thttp://a.test/\t2026-11\t0", "page.shape:2: "),
                                                ("page\thttp://a.test/\t2026-11\t0\nhttp2\t../x", "page.shape:3: ")])
def test_a_line_of_http2_hosts_that_cannot_be_right_is_refused(lines: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(f"format\t4\n{lines}\n")
    with pytest.raises(InputError, match=problem):
        read_shapes(tmp_path / "page.shape")


@pytest.mark.parametrize(("index", "column", "value", "problem"), [
    (0, 8, "7", r"redirect to 7, of 2 in http://www\.a\.test"), (0, 8, "2", "redirect to 2, of 2 in"),
    (1, 5, str(2**29 + 1), "too large to be made: 53687"), (1, 6, str(2**21 + 1), "a path of 2097153 characters")])
def test_what_would_not_be_a_page_is_refused(index: int, column: int, value: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    rows = [["0", "www.a.test", "http", "text/html", "-", "500", "1", "-", "-", "0", "10"],
            ["1", "www.a.test", "http", "image/png", "-", "500", "6", "0", "-", "0", "10"]]
    rows[index][column] = value
    path.write_text("page\thttp://www.a.test\t2013-03\n" + "".join("\t".join(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"page\.shape:[13]: .*{problem}"):
        read_shapes(path)


@pytest.mark.parametrize(("priority", "seen", "problem"), [
    ("Lowest", "0", "priority Lowest"), ("Low", "2", "seen 2"), ("Low", "", "seen")])
def test_a_priority_that_chrome_does_not_know_is_refused(priority: str, seen: str, problem: str,
                                                         tmp_path: Path) -> None:
    line = "\t".join([*ROW, "-", "0", "0", priority, seen])
    (tmp_path / "page.shape").write_text(f"format\t5\npage\thttp://a.test/\t2026-11\t0\n{line}\n")
    with pytest.raises(InputError, match=rf"page\.shape:3: .*{problem}"):
        read_shapes(tmp_path / "page.shape")


def test_a_file_of_an_older_format_knows_no_priorities(tmp_path: Path) -> None:
    line = "\t".join([*ROW, "-", "0", "1"])
    (tmp_path / "page.shape").write_text(f"format\t4\npage\thttp://a.test/\t2026-11\t0\n{line}\n")
    resource = read_shapes(tmp_path / "page.shape")[0].resources[0]
    assert (resource.blocking, resource.priority, resource.seen) == (True, None, False)


@pytest.mark.parametrize("month", ["2026-13", "2026", "11-2026", "today", ""])
def test_what_is_no_month_is_refused(month: str, tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(f"page\thttp://a.test/\t{month}\n" + "\t".join(ROW[:11]) + "\n")
    with pytest.raises(InputError, match=r"page\.shape:1: .* is not a month, written as 2013-03"):
        read_shapes(tmp_path / "page.shape")


def test_a_newer_format_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text("format\t6\n")
    with pytest.raises(InputError, match="format 6"):
        read_shapes(tmp_path / "page.shape")
    with pytest.raises(InputError, match=r"scripts/shape\.py makes one"):
        read_shapes(tmp_path / "none")


def test_a_page_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(format_shapes([SHAPE]))
    (tmp_path / "Set.pages").write_text("http://elsewhere.test/\n")
    with pytest.raises(InputError, match="no figures of"):
        make_pages(tmp_path, "Set", 1, tmp_path / "page.shape")
