"""Options that name a file, and what is there is none: one line and status 2, and no program waits for a FIFO."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.forked import typed
from tests.support.ran import assert_refused
from tests.support.report_folder import MEASURED
from tests.support.small_mirror import one_document


@pytest.mark.parametrize("spoil", [os.mkfifo, lambda path: path.mkdir(), lambda path: path.symlink_to("/dev/full"),
                                   lambda path: path.symlink_to(path)], ids=["FIFO", "folder", "device", "circle"])
@pytest.mark.parametrize("command", [
    ("fetch.py", "--dir", ".", "--name", "small", "--ca", "file"),
    ("fetch.py", "--dir", ".", "--name", "small", "--remap", "file"),
    ("tfo-test/http_tfo.py", "--mirror", "small", "--fetchlog", "small.fetchlog", "--hosts", "file"),
    ("scripts/make_pages.py", "--directory", ".", "--name", "new", "--shape", "file"),
    ("plot.py", "--clientdir", str(MEASURED), "--outputdir", "out", "--append", "file")], ids=lambda words: words[-2])
def test_what_is_no_file_is_one_line(tmp_path: Path, command: tuple[str, ...], spoil: Callable[[Path], object]) -> None:
    one_document(tmp_path)
    spoil(tmp_path / "file")
    program, *words = command
    done = typed(ROOT / program, *words, cwd=tmp_path)
    assert_refused(done)
    assert done.stderr.startswith(("file:1: ", f"{tmp_path / 'file'}:1: "))
