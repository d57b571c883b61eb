"""Where a recording's bodies go, and how it takes the place of an older one.

A recorder that is killed leaves a recording of one time in its place, and a hidden folder for the next to remove.
"""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import Page, PageFiles
from harness.mirror.paths import md5_name
from harness.mirror.store import Store, new_store
from harness.record.recorder import RecordingOutcome, remove_older
from harness.record.verdict import Verdict


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give the store of a recording `demo` that is being made."""
    with new_store(PageFiles(tmp_path, "demo")) as made:
        yield made


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


@pytest.mark.parametrize("reasons", [[], ["its replay is not the page: it is incomplete"]])
def test_the_older_one_is_kept_until_the_new_one_has_shown_that_it_is_fit(tmp_path: Path, reasons: list[str]) -> None:
    """That is known only when its pages were loaded from it: the older one was gone by then."""
    kept = ""
    for content in ("1", "2", "3"):
        with new_store(PageFiles(tmp_path, "demo")) as store:
            store.put("http://a.test/x", "GET", content.encode())
            store.write_manifest(note=content)
            kept = store.publish(keep=True)
    assert {path.name: tree(path) for path in tmp_path.iterdir() if not path.name.endswith(".fetchlog")} == {
        "demo": {"a.test/x": "3"}, "demo.previous": {"a.test/x": "1"}, "demo.previous-2": {"a.test/x": "2"}}
    assert len([*tmp_path.iterdir()]) == 6
    assert '"note": "3"' in (tmp_path / "demo.fetchlog" / "manifest.json").read_text()
    elsewhere = (tmp_path / kept).rename(tmp_path / "elsewhere")
    (tmp_path / kept).symlink_to(elsewhere)
    outcome = RecordingOutcome([(Page("http://a.test/", "httpa.test"), Verdict(reasons=reasons))], kept)
    remove_older(outcome, tmp_path)
    assert [os.path.lexists(tmp_path / name) for name in (kept, f"{kept}.fetchlog")] == [bool(reasons)] * 2
    assert outcome.kept == (kept if reasons else "")
    assert tree(elsewhere) == {"a.test/x": "2"}, "of a link only the link goes"


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


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("stop", [kill, fill])
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("renames", range(7))
def test_broken_off_at_any_moment_of_the_exchange(
        tmp_path: Path, renames: int, replaces: bool, stop: Callable[[], None]) -> None:
    """It is killed, or the disk is full, instead of its rename of this number, from 0, or it is killed at its end."""
    old, new = {"demo": ["old"], "demo.fetchlog": ["old"]}, {"demo": ["a.test/x"], "demo.fetchlog": ["manifest.json"]}
    for name in old if replaces else ():
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
    child = os.fork()
    if child == 0:
        rename, numbers = Path.rename, count()

        def counted(path: Path, target: Path) -> Path:
            if next(numbers) == renames:
                stop()
            return rename(path, target)

        try:
            with new_store(PageFiles(tmp_path, "demo")) as store:
                store.put("http://a.test/x", "GET", b"new")
                store.write_manifest()
                Path.rename = counted       # type: ignore[assignment, method-assign]
                store.publish(keep=True)
                if stop is kill:
                    kill()
        except OSError as error:
            os._exit(error.errno or 1)
        finally:
            kill()
    # Of a killed one the rest follows the first rename that puts something new in its place.
    is_new = renames > 2 * replaces if stop is kill else renames >= (6 if replaces else 2)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended == (-signal.SIGKILL if stop is kill or is_new else errno.ENOSPC), "a full disk is said"
    assert len(list(tmp_path.glob(".demo.recording-*"))) == (stop is kill)
    with new_store(PageFiles(tmp_path, "other")):
        pass
    found = {path.name: sorted(tree(path)) for path in tmp_path.iterdir() if ".previous" not in path.name}
    assert found == (new if is_new else old if replaces else {})
    assert stop is kill or len(list(tmp_path.glob("demo.previous*"))) == 2 * (replaces and is_new)


def test_a_recorder_that_runs_and_folders_of_others_are_left_alone(tmp_path: Path, store: Store) -> None:
    somebody = tmp_path / ".demo.recording-mine"
    somebody.mkdir()
    (somebody / "lock").touch()
    with new_store(PageFiles(tmp_path, "other")):
        assert store.mirror.is_dir()
        assert somebody.is_dir()
