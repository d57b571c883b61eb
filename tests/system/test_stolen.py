"""A test of times is not judged while the machine's host takes the processor, and is judged otherwise."""

import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran

FAILING = """
import pytest
@pytest.mark.timing
def test_of_times():
    assert False, "late"
@pytest.mark.slow
def test_of_something_else():
    assert False, "wrong"
"""


@pytest.mark.parametrize(("stolen", "outcome"), [(0, "2 failed"), (1000, "1 failed, 1 skipped")])
def test_only_tests_of_times_are_left_unjudged(stolen: int, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from itertools import count\nfrom pathlib import Path\nfrom tests.support import stolen\n"
        "from tests.conftest import *\nfrom tests.conftest import pytest_runtest_makereport, pytest_runtest_setup\n"
        "from tests.conftest import _test_leaves_nothing\n"
        f"ticks = count(0, {stolen})\n"
        "class Stat:\n    def read_text(self):\n        return f'cpu 0 0 0 0 0 0 0 {next(ticks)} 0'\n"
        "stolen.STAT = Stat()\n")
    (tmp_path / "test_failing.py").write_text(FAILING)
    done = ran(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT}", "-o",
               "markers=timing\nslow\nroot\nchrome", tmp_path, cwd=tmp_path)
    assert done.stdout.splitlines()[-1].startswith(outcome), done.stdout
