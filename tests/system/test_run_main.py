"""How a script ends, and what it says: names and reasons come from web pages, and do nothing to a terminal.

And with which Python it goes on (harness/bootstrap.py).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bootstrap import ROOT
from harness.errors import InputError, printable, run_main
from tests.support.ran import ran


def test_a_reader_that_has_ended_is_one_line() -> None:
    """`sudo ./run.sh | less`, and q: every delay that followed ended in a traceback."""
    code = "from harness.errors import run_main; run_main(lambda: print('said', flush=True) or 0)"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                          check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (
        1, "nobody reads any more what this program writes; that ends it\n")


@given(st.text())
def test_any_text_becomes_one_encodable_line(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert all(character.isprintable() for character in shown)
    assert shown == text or not text.isprintable()
    assert printable(shown) == shown


def test_errors_are_printed_so(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise InputError("x\x1b[2J.pages:1: no such file")

    with pytest.raises(SystemExit, match="2"):
        run_main(fails)
    assert capsys.readouterr().err == "x\\x1b[2J.pages:1: no such file\n"


def test_half_an_environment_is_none(tmp_path: Path) -> None:
    """Set-up that is ended while it clears an old one may leave its Python alone: programs started it for ever."""
    (tmp_path / "harness").mkdir()
    shutil.copy(ROOT / "harness" / "bootstrap.py", tmp_path / "harness")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    done = ran(sys.executable, "-c", "from harness.bootstrap import use_project_python; use_project_python()",
               cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, f"{tmp_path}/.venv: no Python environment yet; run: sudo {tmp_path}/scripts/setup.sh\n")
