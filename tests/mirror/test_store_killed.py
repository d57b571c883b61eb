"""A recorder that is killed leaves a recording of one time in its place, and a hidden folder for the next to remove."""

import os
import signal
from pathlib import Path

import pytest

from harness.files.pages import PageFiles
from harness.mirror.store import Store, new_store


def tree(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def killed(directory: Path, renames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record in a child that is killed instead of its rename of this number, from 0, or at its end."""
    rename, done = Path.rename, [*range(renames)]

    def counted(path: Path, target: Path) -> Path:
        if not done:
            os.kill(os.getpid(), signal.SIGKILL)
        done.pop()
        return rename(path, target)

    child = os.fork()
    if child == 0:
        try:
            with new_store(PageFiles(directory, "demo")) as store:
                monkeypatch.setattr(Path, "rename", counted)
                store.put("http://a.test/x", "GET", b"new")
                store.write_manifest()
                store.publish()
                done.clear()
                counted(directory, directory)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("renames", range(5))
def test_killed_at_any_moment_of_the_exchange(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int, replaces: bool) -> None:
    old, new = {"demo": ["old"], "demo.fetchlog": ["old"]}, {"demo": ["a.test/x"], "demo.fetchlog": ["manifest.json"]}
    for name in old if replaces else ():
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
    killed(tmp_path, renames, monkeypatch)
    assert len(list(tmp_path.glob(".demo.recording-*"))) == 1
    with new_store(PageFiles(tmp_path, "other")):
        pass
    found = {path.name: tree(path) for path in tmp_path.iterdir()}
    # The first rename that puts something new in its place decides: of it the rest follows.
    assert found == (new if renames > (2 if replaces else 0) else old if replaces else {})


def test_a_recorder_that_runs_and_folders_of_others_are_left_alone(tmp_path: Path, store: Store) -> None:
    somebody = tmp_path / ".demo.recording-mine"
    somebody.mkdir()
    (somebody / "lock").touch()
    with new_store(PageFiles(tmp_path, "other")):
        assert store.mirror.is_dir()
        assert somebody.is_dir()
