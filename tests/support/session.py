"""What a session of tests has for itself, shares with the other parts of scripts/test.sh, and leaves to the user.

A machine of its own, as far as an experiment can tell: this process gets a network and a lock for itself.

The simulated networks lie in namespaces of their own anyway. What two experiments share is the lock, since each would
disturb the other's times (harness/system/lock.py), and net.ipv4.tcp_fastopen, which run.sh sets. Where each worker of
pytest-xdist has its own of both, tests that compare no times can run side by side.
"""

import os
from pathlib import Path

from harness.system.libc import call
from harness.system.lock import MACHINES
from harness.system.namespaces import CLONE_NEWNET, CLONE_NEWNS
from tests.support.leaks import NAMED_NAMESPACES
from tests.support.ran import ran

SHARED = "TFO_LAB_TEST_SHARED"
"""The environment's variable that names the folder that the parts of one run of scripts/test.sh share: a recording that
both use, the temporary folders of each."""

STAYS = (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".authority")
"""Caches, and the certificate authority that the first experiment over https makes: `sudo ./run.sh` opens it with its
user's rights, and ends where that is refused (harness.replay.authority)."""


def enter_own_machine(scratch: Path) -> None:
    """Give this thread, and all that it starts, a network with a loopback and a lock of its own. Needs root.

    For good: both are gone with the process. Raises OSError.
    """
    call("unshare", CLONE_NEWNET | CLONE_NEWNS)
    own = scratch / MACHINES.notes.name
    for notes in (own, MACHINES.notes):
        notes.touch()
    NAMED_NAMESPACES.mkdir(exist_ok=True)
    for command in (["mount", "--make-rprivate", "/"], ["mount", "--bind", str(own), str(MACHINES.notes)],
                    ["mount", "-t", "tmpfs", "tmpfs", str(NAMED_NAMESPACES)],
                    ["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(MACHINES.folder)],
                    ["ip", "link", "set", "lo", "up"]):
        ran(*command, status=0)


def give_what_stays(project: Path, uid: int, gid: int) -> None:
    """Give what the tests made in the project for good to the user who typed sudo. Needs root."""
    for made in (*(project / name for name in STAYS), *project.glob("[!.]*/**/__pycache__"), project / "__pycache__"):
        for path in (made, *made.rglob("*")) if made.exists() else ():
            os.lchown(path, uid, gid)
