"""Each program that a user may call says what it is for, or which version it is, when asked, and does nothing else."""

import platform
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.measure.about import VERSION
from tests.support.ran import ran

SCRIPTS = sorted(script.relative_to(ROOT) for folder in (".", "scripts", "tfo-test", "experiments")
                 for script in (ROOT / folder).glob("*.sh"))


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_script_tells_how_to_call_it(script: Path, option: str) -> None:
    done = ran(ROOT / script, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"./{script}" in done.stdout or f"{ROOT / script} [" in done.stdout
    assert "set -euo" not in done.stdout


@pytest.mark.parametrize("program", ["run.sh", "experiments/all.sh", "tfo.py", "sweep.py"])
def test_a_program_says_what_it_is_without_root(program: str) -> None:
    done = ran(ROOT / program, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    assert line.startswith(f"TFO Lab {VERSION}, commit ")
    assert f"Linux {platform.release()}" in line
    assert len(line.split("; ")) == 5
