"""What Chrome's user left is taken over only if it is a file of its own and not too large; nothing hangs."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.measure.client_log import REPORT
from harness.measure.loads import MOST_OUTPUT, LeftBehind
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


def sparse(path: Path) -> None:
    """Make a file of 60 GB, which takes no room."""
    with path.open("wb") as file:
        file.truncate(60 * 2**30)


@pytest.mark.parametrize(("make", "why"), [
    (os.mkfifo, "it is no regular file"), (lambda path: path.symlink_to("/etc/hostname"), "it is a symbolic link"),
    (sparse, "64424509440 bytes, more than ")])
def test_what_is_no_file_of_ours_is_not_taken_and_nothing_hangs(left: LeftBehind, make: Callable[[Path], object],
                                                                why: str) -> None:
    for name in (REPORT, "page", "page.har", "chromedriver.log"):
        make(left.scratch / name)
    left.keep_logs()
    assert left.report("")["errors"][0].startswith(f"load_page.py left no report: {why}")
    names = left.keep_output(io.BytesIO(b"said"))
    assert sorted(path.name for path in left.directory.iterdir()) == sorted(names), "neither log nor HAR"


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
