"""--version of every program: one line, no root needed, nothing touched."""

import platform

import pytest

from harness.bootstrap import ROOT
from harness.measure.about import VERSION
from tests.support.ran import ran


@pytest.mark.parametrize("program", ["run.sh", "tfo.py", "fetch.py", "plot.py", "sweep.py"])
def test_every_program_says_what_it_is(program: str) -> None:
    done = ran(ROOT / program, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    assert line.startswith(f"TFO Lab {VERSION}, commit ")
    assert f"Linux {platform.release()}" in line
    assert len(line.split("; ")) == 5
