"""What Chrome's user left is taken over only if it is a file of its own and not too large; nothing hangs."""

import io
import json
import os
import time
from pathlib import Path

import pytest

from harness.measure.client_log import REPORT
from harness.measure.left_behind import MOST_OUTPUT, LeftBehind
from harness.system.privileges import User

ME = User("", os.getuid(), os.getgid())
ALICE, BOB = User("alice", 1234, 4321), User("bob", 2345, 5432)


@pytest.fixture
def left(tmp_path: Path) -> LeftBehind:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "kept").mkdir()
    return LeftBehind(tmp_path / "scratch", ME, tmp_path / "kept", "page")


def test_log_har_and_report_are_taken_over(left: LeftBehind) -> None:
    for name in ("page", "page.har"):
        (left.scratch / name).write_text(name)
    (left.scratch / REPORT).write_text('{"errors": [], "plt_ms": 1.5}')
    left.keep_logs()
    kept = {path.name: path.read_text() for path in left.directory.iterdir()}
    assert kept == {"page": "page", "page.har": "page.har"}
    assert left.report("") == {"errors": [], "plt_ms": 1.5}


def test_a_fifo_does_not_hang_root(left: LeftBehind) -> None:
    for name in (REPORT, "page", "page.har", "chromedriver.log"):
        os.mkfifo(left.scratch / name)
    began_s = time.monotonic()
    left.keep_logs()
    assert left.report("") == {"errors": ["load_page.py left no report: it is no regular file"]}
    left.keep_output(io.BytesIO())
    assert time.monotonic() - began_s < 5, "opening a FIFO waits for a writer, unless told not to"
    assert sorted(path.name for path in left.directory.iterdir()) == ["page.chromedriver.log", "page.load_page.log"]


def test_links_are_not_followed(left: LeftBehind, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"secret": "of root"}')
    for name in (REPORT, "page", "page.har", "chromedriver.log"):
        (left.scratch / name).symlink_to(secret)
    left.keep_logs()
    assert left.report("") == {"errors": ["load_page.py left no report: it is a symbolic link"]}
    names = left.keep_output(io.BytesIO(b"said"))
    assert "secret" not in "".join((left.directory / name).read_text() for name in names)
    assert not (left.directory / "page").exists()


def test_a_huge_file_is_not_read(left: LeftBehind) -> None:
    for name in (REPORT, "page", "page.har"):
        with (left.scratch / name).open("wb") as file:
            file.truncate(60 * 2**30)               # sparse: takes no room
    left.keep_logs()
    assert list(left.directory.iterdir()) == []
    assert left.report("")["errors"][0].startswith("load_page.py left no report: 64424509440 bytes, more than")


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, '{"plt_ms": NaN}', "\0"])
def test_what_is_no_report_is_an_error(left: LeftBehind, content: str) -> None:
    (left.scratch / REPORT).write_text(content)
    assert left.report("")["errors"][0].startswith("load_page.py left no report: ")
    assert left.report("Chrome hung: no end after 60 s") == {"errors": ["Chrome hung: no end after 60 s"]}


def test_the_last_words_are_kept(left: LeftBehind) -> None:
    (left.scratch / "chromedriver.log").write_bytes(b"x" * MOST_OUTPUT * 3 + b"the end\n")
    driver, program = left.keep_output(io.BytesIO(b"Traceback\n"))
    assert (left.directory / driver).read_bytes().endswith(b"xthe end\n")
    assert (left.directory / driver).stat().st_size == MOST_OUTPUT
    assert (left.directory / program).read_text() == "Traceback\n"


@pytest.mark.root
def test_another_users_file_is_not_taken(open_to_all: Path) -> None:
    for name in ("scratch", "kept"):
        (open_to_all / name).mkdir()
    left = LeftBehind(open_to_all / "scratch", ALICE, open_to_all / "kept", "page")
    for name, owner in ((REPORT, BOB), ("page", ALICE), ("page.har", BOB)):
        (left.scratch / name).write_text(json.dumps({}))
        os.chown(left.scratch / name, owner.uid, owner.gid)
    left.keep_logs()
    assert [path.name for path in left.directory.iterdir()] == ["page"]
    assert left.report("")["errors"] == ["load_page.py left no report: it belongs to user 2345, not to 1234"]
