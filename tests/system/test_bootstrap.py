"""harness/bootstrap.py: which Python a program goes on with."""

import shutil
import subprocess
import sys
from pathlib import Path

from harness.bootstrap import ROOT
from tests.support.ran import ran


def use_half_an_environment(project: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program in a project whose .venv has its Python, and nothing else."""
    source = "harness/bootstrap.py"
    (project / source).parent.mkdir(parents=True)
    shutil.copy(ROOT / source, project / source)
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    (project / "program.py").write_text("from harness.bootstrap import use_project_python\nuse_project_python()\n")
    return ran(sys.executable, "program.py", cwd=project)


def test_half_an_environment_is_none(tmp_path: Path) -> None:
    """Set-up that is ended while it clears an old one may leave its Python alone: programs started it for ever."""
    done = use_half_an_environment(tmp_path)
    assert (done.returncode, done.stderr) == (
        2, f"{tmp_path}/.venv: no Python environment yet; run: sudo {tmp_path}/scripts/setup.sh\n")
