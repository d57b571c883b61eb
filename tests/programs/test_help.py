"""Each shell script that a user may call tells what it is for, and does nothing else, when it is asked to."""

from pathlib import Path

import pytest

from harness.bootstrap import ROOT
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


def test_what_check_sh_does_not_know_is_refused() -> None:
    done = ran(ROOT / "scripts" / "check.sh", "--fast")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "check: unknown argument: --fast; see ./scripts/check.sh --help\n"
