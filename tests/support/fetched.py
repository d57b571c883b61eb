"""fetch.py on the test internet, run to its end, and what it left."""

import subprocess
from pathlib import Path

from tests.support.internet.recorded import NAME, fetch_command
from tests.support.internet.server import Internet
from tests.support.ran import ran


def fetch(internet: Internet, directory: Path, urls: list[str], *more: str,
          status: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run fetch.py on `urls` to its end, which has to be `status` (None: any)."""
    (directory / f"{NAME}.pages").write_text("\n".join(urls))
    return ran(*command(internet, directory, *more), status=status)


def command(internet: Internet, directory: Path, *more: str) -> list[str]:
    """Return the command that records NAME.pages in `directory`."""
    return fetch_command(directory, NAME, internet.remap, internet.ca, *more)


def tree(directory: Path) -> dict[str, bytes]:
    """Return all files below a directory, by path, but icons: Chrome asks for these late, or is closed before."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*")
            if path.is_file() and path.name != "favicon.ico"}


def names(directory: Path) -> set[str]:
    """Return what stands in a directory."""
    return {path.name for path in directory.iterdir()}
