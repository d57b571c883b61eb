"""Run a script with the project's own Python where there is one: it has the peers to compare with."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
SETTINGS = ROOT / ".venv" / "pyvenv.cfg"
"""Without it PYTHON is the distribution's Python, not the environment's (PEP 405), and exec would go on for ever."""


def use_project_python() -> None:
    """Re-execute the running script under ``.venv/bin/python`` if that exists and is not what runs already."""
    if PYTHON.exists() and SETTINGS.exists() and Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
