"""Programs that run as root write into the user's folders as that user: no link there leads root astray."""

import os
import subprocess
from pathlib import Path

import pytest

from connie.lab.task import Results, Task, Time
from connie.star import check_output, report
from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.system.privileges import invoking_user
from tests.support.ordinary import acting_as
from tests.support.ran import ran

pytestmark = pytest.mark.root
USER, GROUP = 1234, 4321
TASK = Task("home", ["none"], [], rounds=5, budget_s=8, timeout_s=2, seed=1)
RESULTS = Results([Time("none", "connie_connect", 60.0 + number, 90.0, "", "") for number in range(5)], [])


@pytest.fixture
def folder(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who called sudo, beside one of root."""
    for name, owner in (("of_root", 0), ("of_user", USER)):
        (open_to_all / name).mkdir(mode=0o700)
        os.chown(open_to_all / name, owner, owner and GROUP)
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(GROUP))
    return open_to_all / "of_user"


def test_the_star_of_connie_writes_what_the_user_may_write(folder: Path) -> None:
    with acting_as(invoking_user()):
        report(TASK, RESULTS, folder)
    assert {path.name: path.stat().st_uid for path in folder.iterdir()} == {"connie-home.png": USER,
                                                                           "connie-home.json": USER}
    (folder / "figures").symlink_to(folder.parent / "of_root")
    with acting_as(invoking_user()), pytest.raises(InputError, match=r"^/.*/figures:1: "):
        check_output(folder / "figures")
    with acting_as(invoking_user()), pytest.raises(InputError, match=r"^/.*/figures:1: "):
        report(TASK, RESULTS, folder / "figures")
    assert list((folder.parent / "of_root").iterdir()) == []


def make_tiny(folder: Path) -> "subprocess.CompletedProcess[str]":
    return ran(ROOT / "scripts" / "make_tiny.py", "--directory", folder)


@pytest.mark.parametrize("sudo", [True, False])
def test_the_tiny_page_is_the_users(folder: Path, sudo: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not sudo:
        monkeypatch.delenv("SUDO_UID")
        monkeypatch.delenv("SUDO_GID")
    made = make_tiny(folder)
    assert made.returncode == 0, made.stderr
    files = list(folder.rglob("*"))
    assert len(files) > 3
    assert {path.stat().st_uid for path in files} == {USER}


def test_the_tiny_page_goes_through_no_link(folder: Path) -> None:
    (folder / "tiny.pages").symlink_to(folder.parent / "of_root" / "pages")
    assert make_tiny(folder).returncode == 2
    (folder / "in_root").symlink_to(folder.parent / "of_root")
    made = make_tiny(folder / "in_root")
    assert (made.returncode, made.stdout) == (2, "")
    assert "choose another --directory" in made.stderr
    assert list((folder.parent / "of_root").iterdir()) == []
