"""A recorder that is killed leaves a recording of one time in its place, and a hidden folder for the next to remove."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.mirror.store import Store, sweep

RECORDER = """import os, signal, sys
from pathlib import Path
from harness.mirror.store import Store
from harness.system.privileges import invoking_user
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
RUNNING = """import sys, time
from pathlib import Path
from harness.mirror.store import Store
store = Store(Path(sys.argv[1]), "demo")
store.make()
print("made", flush=True)
time.sleep(60)"""


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
    sweep(tmp_path)
    found = {path.name: tree(path) for path in tmp_path.iterdir()}
    # The first rename that puts something new in its place decides: of it the rest follows.
    assert found == (new if renames > (2 if replaces else 0) else old if replaces else {})


def test_the_next_recorder_sweeps_and_leaves_one_that_runs_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUNNING, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"made\n"
        [hidden] = tmp_path.iterdir()
        store = Store(tmp_path, "demo")
        store.make()
        store.clean_up()
        assert [*tmp_path.iterdir()] == [hidden], "it is being recorded"
        running.kill()
    store = Store(tmp_path, "other")
    store.make()
    assert not hidden.exists()
    store.clean_up()
    assert not [*tmp_path.iterdir()]
