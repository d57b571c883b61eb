"""A copy of the project for tests that type its commands: results of the real one are never touched."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT


def copy_project(target: Path) -> Path:
    """Copy what git would commit to `target`, with the set-up environment and the compiled shim; return `target`."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    (target / ".venv").symlink_to(ROOT / ".venv")
    shutil.copy2(ROOT / "tfo-test" / "chrome_shim.so", target / "tfo-test")
    return target
