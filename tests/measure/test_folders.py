"""What lies in the user's folders is looked at before anything is built: one line each, and nothing is followed."""

import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.folders import check_folders
from harness.system.privileges import User
from tests.support.ordinary import acting_as

ME = User("", os.getuid(), os.getgid())
ALICE = User("alice", 1234, 4321)


FOLDERS = ("client", "serverlogs", "my", "my.fetchlog", "client/10-0-tfo-0", "serverlogs/10-tfo-0")


@pytest.mark.parametrize("name", [*FOLDERS, "my.pages", "hack_dns", "client/experiment-10.json"])
def test_a_link_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    """One that leads to such a folder or file, or nowhere."""
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    for folder in FOLDERS:
        (base / folder).mkdir(parents=True)
    for file in ("my.pages", "hack_dns"):
        (base / file).touch()
    if (base / name).exists():
        (base / name).rename(elsewhere)
    (base / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match=rf"^{base / name}: "):
        check_folders(base, PageFiles(base, "my"), ME)


@pytest.mark.root
def test_a_folder_in_a_home_that_is_closed_to_its_user(open_to_all: Path) -> None:
    """Two students and one machine: the one who types sudo is not the one in whose home it is typed."""
    base = open_to_all / "base"
    base.mkdir()
    os.chown(base, ALICE.uid, ALICE.gid)
    open_to_all.chmod(0o700)
    with pytest.raises(InputError, match="/base: alice "), acting_as(ALICE):
        check_folders(base, PageFiles(base, "my"), ALICE)
