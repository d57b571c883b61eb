"""Where a recording's bodies go, and how it takes the place of an older one.

A recorder that is killed leaves a recording of one time in its place, and a hidden folder for the next to remove.
"""

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import Page, PageFiles
from harness.mirror.paths import md5_name
from harness.mirror.store import Store, new_store
from harness.record.recorder import RecordingOutcome, remove_older
from harness.record.verdict import Verdict


def tree(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def test_another_body_of_a_url_and_one_in_a_directorys_place_get_files_of_their_own(store: Store) -> None:
    assert store.put("https://a.test/x", "GET", b"1").file == "a.test/x"
    others = {store.put("http://a.test/x", "GET", b"2").file, store.put("https://a.test/x", "POST", b"3").file,
              store.put("https://a.test/x", "GET", b"4").file}
    assert sorted((store.mirror / name).read_bytes() for name in others) == [b"2", b"3", b"4"]
    assert (store.mirror / "a.test/x").read_bytes() == b"1"
    assert all(len(name.removeprefix("a.test/")) == 32 for name in others)
    assert store.put("http://a.test/x", "GET", b"2").file in others      # and always the same one
    bodies = [("x/below", b"5"), ("b/c", b"6"), ("x/below", b"5"), ("b", b"7")]
    assert [store.put(f"http://a.test/{path}", "GET", body).file.removeprefix("a.test/") for path, body in bodies] == [
        md5_name("/x/below"), "b/c", md5_name("/x/below"), md5_name("/b")]


def test_the_older_one_can_be_kept(tmp_path: Path) -> None:
    for content in ("1", "2", "3"):
        with new_store(PageFiles(tmp_path, "demo")) as store:
            store.put("http://a.test/x", "GET", content.encode())
            store.write_manifest(note=content)
            store.publish(keep=True)
    assert {path.name: tree(path) for path in tmp_path.iterdir() if not path.name.endswith(".fetchlog")} == {
        "demo": {"a.test/x": "3"}, "demo.previous": {"a.test/x": "1"}, "demo.previous-2": {"a.test/x": "2"}}
    assert json.loads((tmp_path / "demo.fetchlog" / "manifest.json").read_text())["note"] == "3"
    assert len([*tmp_path.iterdir()]) == 6


@pytest.mark.parametrize("reasons", [[], ["its replay is not the page: it is incomplete"]])
def test_the_older_one_goes_when_the_new_one_has_shown_that_it_is_fit(tmp_path: Path, reasons: list[str]) -> None:
    """That is known only when its pages were loaded from it: the older one was gone by then."""
    (tmp_path / "demo.previous").symlink_to(tmp_path)
    (tmp_path / "demo.previous.fetchlog").mkdir()
    outcome = RecordingOutcome([(Page("http://a.test/", "httpa.test"), Verdict(reasons=reasons))], "demo.previous")
    remove_older(outcome, tmp_path)
    there = [os.path.lexists(tmp_path / name) for name in ("demo.previous", "demo.previous.fetchlog")]
    assert there == [bool(reasons)] * 2
    assert bool(outcome.kept) == bool(reasons)
    assert tmp_path.exists(), "of a link only the link goes"


@pytest.mark.parametrize("fails", [("fetchlog", "demo.fetchlog"), ("old-mirror", "demo.previous-2")])
def test_what_cannot_be_replaced_stays_in_its_place(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: tuple[str, str]) -> None:
    """The disk is full when the new logs follow the new mirror, or when the older one is to be kept."""
    rename, names = Path.rename, ("demo", "demo.fetchlog", "demo.previous")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")

    def full(self: Path, target: Path) -> Path:
        if (self.name, target.name) == fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match=f"Errno {errno.ENOSPC}"), new_store(PageFiles(tmp_path, "demo")) as store:
        store.publish(keep=True)
    assert {path.name: tree(path) for path in tmp_path.iterdir()} == {name: {"old": "old"} for name in names}


OTHERS = ("", "[]", '{"format": 1, "source": "synthetic", "pages": []}',
          '{"format": 3, "source": "recorded", "pages": []}', '{"format": 1, "source": "recorded"}')
SPOILT = [("demo/a.test/x", "firsT", r"^1 .* 2 .*a\.test/x; "), ("demo/b.test", Path("/tmp"), r"/demo/b\.test: "),
          *(("demo.fetchlog/manifest.json", text, r"manifest\.json:1: ") for text in OTHERS)]


@pytest.mark.parametrize(("name", "content", "why"), SPOILT)
def test_nothing_is_added_to_what_is_of_others_or_not_all_there(
        tmp_path: Path, store: Store, name: str, content: str | Path, why: str) -> None:
    """Its new list of bodies would hide what is wrong; and nothing is written to where a link leads."""
    for path in "xy":
        store.put(f"http://a.test/{path}", "GET", b"first")
    store.write_manifest()
    store.publish()
    if isinstance(content, Path):
        (tmp_path / name).symlink_to(content)
    else:
        (tmp_path / name).write_text(content)
    with new_store(PageFiles(tmp_path, "demo")) as added, pytest.raises(InputError, match=why):
        added.continue_from_existing()


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
    found = {path.name: sorted(tree(path)) for path in tmp_path.iterdir()}
    # The first rename that puts something new in its place decides: of it the rest follows.
    assert found == (new if renames > (2 if replaces else 0) else old if replaces else {})


def test_a_recorder_that_runs_and_folders_of_others_are_left_alone(tmp_path: Path, store: Store) -> None:
    somebody = tmp_path / ".demo.recording-mine"
    somebody.mkdir()
    (somebody / "lock").touch()
    with new_store(PageFiles(tmp_path, "other")):
        assert store.mirror.is_dir()
        assert somebody.is_dir()
