"""A recorder that is killed leaves a recording of one time in its place, and a hidden folder for the next to remove."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.mirror.store import Store

RECORDER = """import os, signal, sys
from pathlib import Path
from harness.mirror.store import Store
directory, renames = Path(sys.argv[1]), int(sys.argv[2])
store = Store(directory, "demo")
store.make()
rename = Path.rename
def counted(self, target):
    global renames
    if renames == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    renames -= 1
    return rename(self, target)
Path.rename = counted
store.put("http://a.test/x", "GET", b"new")
store.write_manifest()
store.publish()
os.kill(os.getpid(), signal.SIGKILL)"""


def tree(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("renames", range(5))
def test_killed_at_any_moment_of_the_exchange(tmp_path: Path, renames: int, replaces: bool) -> None:
    old, new = {"demo": ["old"], "demo.fetchlog": ["old"]}, {"demo": ["a.test/x"], "demo.fetchlog": ["manifest.json"]}
    for name in old if replaces else ():
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
    killed = subprocess.run([sys.executable, "-c", RECORDER, str(tmp_path), str(renames)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".demo.recording-*"))) == 1
    following = Store(tmp_path, "other")
    following.make()
    following.clean_up()
    found = {path.name: tree(path) for path in tmp_path.iterdir()}
    # The first rename that puts something new in its place decides: of it the rest follows.
    assert found == (new if renames > (2 if replaces else 0) else old if replaces else {})


def test_a_recorder_that_runs_and_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    running, short = Store(tmp_path, "demo"), Store(tmp_path, "other")
    running.make()
    short.make()
    somebody = tmp_path / ".demo.recording-mine"
    somebody.mkdir()
    (somebody / "lock").touch()
    short.clean_up()
    following = Store(tmp_path, "third")
    following.make()
    assert running.mirror.is_dir()
    assert somebody.is_dir()
    following.clean_up()
    running.clean_up()
