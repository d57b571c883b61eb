"""Links that the owner of the folder plants where root's http_tfo.py reads and writes: each leads to nothing new."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.load_mark import LoadMark
from harness.replay.processes import ServingOptions, _open_directories
from harness.system.privileges import User
from tests.support.https_recording import HttpsRecording
from tests.support.ordinary import acting_as
from tests.support.replay_process import refusal

pytestmark = pytest.mark.root
NOBODY = 65534


@pytest.fixture
def folder(open_to_all: Path) -> Path:
    """Give a recording that is nobody's, beside a folder of root's with a file in it."""
    theirs, of_root = open_to_all / "theirs", open_to_all / "of_root"
    theirs.mkdir()
    of_root.mkdir(mode=0o700)
    (of_root / "file").write_text('{"secret": "of root"}')
    (of_root / "file").chmod(0o600)
    recording = HttpsRecording(theirs)
    recording.add("https://a.test/", b"front", (("content-type", "text/html"),))
    recording.finish("https://a.test/")
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return theirs


def authority(folder: Path) -> tuple[str | Path, ...]:
    (folder / "keys").symlink_to(folder.parent / "of_root")
    return "--authority", folder / "keys" / "authority"


def logs(folder: Path) -> tuple[str | Path, ...]:
    (folder / "logs").symlink_to(folder.parent / "of_root")
    return "--logdir", folder / "logs"


def logs_of_a_delay(folder: Path) -> tuple[str | Path, ...]:
    (folder / "logs").mkdir()
    (folder / "logs" / "10-tfo-0").symlink_to(folder.parent / "of_root")
    return "--logdir", folder / "logs"


def log_file(folder: Path) -> tuple[str | Path, ...]:
    for tfo in (0, 1):
        (folder / "logs" / f"10-tfo-{tfo}").mkdir(parents=True)
        (folder / "logs" / f"10-tfo-{tfo}" / "a.test").symlink_to(folder.parent / "of_root" / "file")
    return "--logdir", folder / "logs"


def mirror(folder: Path) -> tuple[str | Path, ...]:
    shutil.rmtree(folder / "Web" / "a.test")
    (folder / "Web" / "a.test").symlink_to(folder.parent / "of_root")
    return ()


def fetchlog(folder: Path) -> tuple[str | Path, ...]:
    shutil.rmtree(folder / "Web.fetchlog")
    (folder / "Web.fetchlog").symlink_to(folder.parent / "of_root")
    return ()


@pytest.mark.parametrize("plant", [authority, logs, logs_of_a_delay, log_file, mirror, fetchlog])
def test_root_follows_no_link_of_the_folders_owner(folder: Path,
                                                   plant: Callable[[Path], tuple[str | Path, ...]]) -> None:
    said = refusal(folder, "--host", "a.test", "--user", f"{NOBODY}:{NOBODY}", "--authority", folder / "own",
                   *plant(folder))
    of_root = folder.parent / "of_root"
    assert "secret" not in said
    assert [path.name for path in of_root.iterdir()] == ["file"]
    assert (of_root / "file").read_text() == '{"secret": "of root"}'
    for path, mode in ((of_root, 0o700), (of_root / "file", 0o600)):
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (0, mode)


def test_a_link_that_takes_the_mirrors_place_leads_to_nothing_new(open_to_all: Path) -> None:
    """Made after the recording was read."""
    (open_to_all / "of_root" / "a.test").mkdir(parents=True)
    (open_to_all / "of_root").chmod(0o700)
    (open_to_all / "Web").symlink_to(open_to_all / "of_root")
    nobody = User("nobody", NOBODY, NOBODY)
    options = ServingOptions(open_to_all / "Web", False, {}, nobody, LoadMark())
    denied = r"Web/a\.test: "
    with acting_as(nobody), pytest.raises(InputError, match=denied):
        _open_directories(["a.test"], options)
