"""Run a script with the project's own Python, whatever Python started it.

Imports nothing outside the standard library: it runs before the project's packages can be seen.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
SETTINGS = ROOT / ".venv" / "pyvenv.cfg"
"""Without it PYTHON is the distribution's Python, not the environment's (PEP 405), and exec would go on for ever."""
SYSTEM_PROGRAMS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where tc, iptables and the like are. Root by `su`, without `-`, keeps a user's PATH, which on Debian lacks these."""


def use_project_python() -> None:
    """Re-execute the running script under ``.venv/bin/python``, unless that is what runs already.

    Root by sudo leaves no compiled modules behind, since a folder of root's in .venv could not be removed by the user.
    Programs are found in SYSTEM_PROGRAMS, too, from here on.
    Exits with status 2 and one line when the environment has not been made yet.
    """
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*path, *(folder for folder in SYSTEM_PROGRAMS if folder not in path)])
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if Path(sys.prefix) == PYTHON.parent.parent:
        return
    if not (PYTHON.exists() and SETTINGS.exists()):     # set-up may have been ended half way
        print(f"{PYTHON.parent.parent}: no Python environment yet; run: sudo {ROOT}/scripts/setup.sh",
              file=sys.stderr)
        sys.exit(2)
    os.execv(PYTHON, [str(PYTHON), *sys.argv])
