"""What the tests make in the project for good: where a user typed sudo, it must not stay root's."""

import os
from pathlib import Path

STAYS = (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".authority")
"""Caches, and the certificate authority that the first experiment over https makes: `sudo ./run.sh` opens it with its
user's rights, and ends where that is refused (harness.replay.authority)."""


def give_what_stays(project: Path, uid: int, gid: int) -> None:
    """Give all of it to a user. Needs root."""
    for made in (*(project / name for name in STAYS), *project.glob("[!.]*/**/__pycache__"), project / "__pycache__"):
        for path in (made, *made.rglob("*")) if made.exists() else ():
            os.lchown(path, uid, gid)
