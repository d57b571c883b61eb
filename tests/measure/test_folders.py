"""What lies in the user's folders is looked at before anything is built: one line each, and nothing is followed."""

import os
from collections.abc import Callable
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


def make(directory: Path) -> PageFiles:
    for name in ("client", "serverlogs", "my", "my.fetchlog", "client/10-0-tfo-0", "serverlogs/10-tfo-0"):
        (directory / name).mkdir()
    for name in ("my.pages", "hack_dns"):
        (directory / name).touch()
    return PageFiles(directory, "my")


@pytest.mark.parametrize("name", ["client", "serverlogs", "my", "my.fetchlog", "client/10-0-tfo-0",
                                  "serverlogs/10-tfo-0", "my.pages", "hack_dns", "client/experiment-10.json"])
def test_a_link_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    base.mkdir()
    files = make(base)
    if (base / name).exists():
        (base / name).rename(elsewhere)
    (base / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match=rf"^{base / name}: "):
        check_folders(base, files, ME)


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
    with pytest.raises(InputError, match="/base: alice "), \
            acting_as(ALICE):
        check_folders(of_alice, PageFiles(of_alice, "my"), ALICE)


@pytest.mark.root
@pytest.mark.parametrize("attack", [
    lambda base: (base / "hack_dns").write_text("10.0.0.1 a.test 80"),
    lambda base: (base / "client" / "10-0-tfo-0").mkdir(parents=True),
    lambda base: (base / "client" / "page.har").write_text("{}"),
    lambda base: (base / "my.pages").read_text(),
    lambda base: open_authority(base / ".authority" / "ca")])
def test_a_link_made_after_the_look_leads_root_nowhere(of_alice: Path, attack: Callable[[Path], object]) -> None:
    target = of_alice.parent / "of_root"
    target.mkdir(mode=0o700)
    (target / "file").write_text("secret of root")
    (target / "file").chmod(0o600)
    for name in ("client", ".authority"):
        (of_alice / name).symlink_to(target)
    for name in ("hack_dns", "my.pages"):
        (of_alice / name).symlink_to(target / "file")
    with pytest.raises((PermissionError, InputError)), acting_as(ALICE):
        attack(of_alice)
    assert [path.name for path in target.iterdir()] == ["file"]
    assert (target / "file").read_text() == "secret of root"
    assert (target / "file").stat().st_uid == target.stat().st_uid == 0
