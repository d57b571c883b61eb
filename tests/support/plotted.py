"""plot.py as it is typed."""

import subprocess
from pathlib import Path

from harness.bootstrap import ROOT
from tests.support.forked import typed


def plot(cwd: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Type ./plot.py in `cwd`."""
    return typed(ROOT / "plot.py", *arguments, cwd=cwd)
