"""A copy of the project for tests that type its commands: results of the real one are never touched."""

import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ordinary import GIT_ENVIRONMENT
from tests.support.ran import ran

# In a mount namespace of its own the copy stands where the project stands, with the project's own environment in it:
# so nothing has to be set up again.
STAND_IN = ('mount --bind "$1/.venv" "$2/.venv" && mount --rbind "$2" "$1" && cd "$1" && shift 2 && '
            'exec "$@"')

LATE_FOLDER = "tests/support/late_machine"
LATE_MACHINE = ("env", f"PYTHONPATH={ROOT / LATE_FOLDER}")
"""Before a command: the programs refuse nothing for its times (tests/support/late_machine/sitecustomize.py)."""
LATE_PYTHON = (*LATE_MACHINE, sys.executable)
TFO = (*LATE_PYTHON, str(ROOT / "tfo.py"), "--patience", "0", "--retries", "9")
"""tfo.py as tests run it that are not about lateness: other programs are there, and a load may be late, or fail by
accident (a SYN that is sent again, say) several times."""


def experiment(base: Path, *options: object, status: int | None = 0) -> "subprocess.CompletedProcess[str]":
    """Load the pages of small.pages in `base` with tfo.py, which has to end with `status` (None: with any)."""
    return ran(*TFO, "--quiet", "0.2", "--dir", base, "--name", "small", *options, status=status)


def copy_project(target: Path) -> Path:
    """Copy what git would commit to `target`, with the compiled shim and modules; return `target`."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            capture_output=True, check=False, env=GIT_ENVIRONMENT)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        for file in (ROOT / name, Path(cache_from_source(ROOT / name))):
            if file.is_file():
                copy = target / file.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy)    # with its time, by which Python knows a compiled module for its source's
    shutil.copy2(ROOT / "tfo-test" / "chrome_shim.so", target / "tfo-test")
    (target / ".venv").mkdir()
    return target


def typed(project: Path, *command: str) -> list[str]:
    """Return what runs `command` (``./run.sh`` and so on) as if the copy were the project, on a late machine.

    Needs root (unshare(1)).
    """
    return [*LATE_MACHINE, "unshare", "--mount", "sh", "-c", STAND_IN, "sh", str(ROOT), str(project), *command]
