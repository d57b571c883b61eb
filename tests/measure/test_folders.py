"""What lies in the user's folders is looked at before anything is built: one line each, and nothing is followed."""

import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.folders import check_folders
from harness.replay.authority import open_authority
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


@pytest.fixture
def of_alice(open_to_all: Path) -> Path:
    """Give a folder of another user's, below one that she may enter."""
    base = open_to_all / "base"
    base.mkdir()
    os.chown(base, ALICE.uid, ALICE.gid)
    return base


@pytest.mark.root
def test_a_folder_in_a_home_that_is_closed_to_its_user(of_alice: Path) -> None:
    """Two students and one machine: the one who types sudo is not the one in whose home it is typed."""
    of_alice.parent.chmod(0o700)
    with pytest.raises(InputError, match="/base: alice "), acting_as(ALICE):
        check_folders(of_alice, PageFiles(of_alice, "my"), ALICE)


@pytest.mark.root
def test_a_link_made_after_the_look_leads_root_nowhere(of_alice: Path) -> None:
    """The authority's key would be written there. Other files: tests/system/test_privileges.py."""
    target = of_alice.parent / "of_root"
    target.mkdir(mode=0o700)
    (of_alice / ".authority").symlink_to(target)
    with pytest.raises((PermissionError, InputError)), acting_as(ALICE):
        open_authority(of_alice / ".authority" / "ca")
    assert not [*target.iterdir()]
