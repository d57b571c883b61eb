"""plot.py as it is typed."""

import subprocess
from pathlib import Path

from harness.bootstrap import ROOT
from tests.support.forked import typed


def plot(cwd: Path, *arguments: str | Path, status: int | None = None) -> subprocess.CompletedProcess[str]:
    """Type ./plot.py in `cwd`; it has to end with `status` (None: with any)."""
    return typed(ROOT / "plot.py", *arguments, status=status, cwd=cwd)
