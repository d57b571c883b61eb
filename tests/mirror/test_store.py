"""Where a recording's bodies go, and how it takes the place of an older one."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import Page
from harness.mirror.paths import md5_name
from harness.mirror.store import Store
from harness.record.recorder import RecordingOutcome, remove_older
from harness.record.verdict import Verdict


def tree(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def test_another_body_of_a_url_gets_a_file_of_its_own(store: Store) -> None:
    first = store.put("https://a.test/x", "GET", b"1").file
    others = {store.put("http://a.test/x", "GET", b"2").file, store.put("https://a.test/x", "POST", b"3").file,
              store.put("https://a.test/x", "GET", b"4").file}
    assert len(others | {first}) == 4
    assert (store.mirror / first).read_bytes() == b"1"
    assert sorted((store.mirror / name).read_bytes() for name in others) == [b"2", b"3", b"4"]
    assert all(len(name.removeprefix("a.test/")) == 32 for name in others)
    assert store.put("http://a.test/x", "GET", b"2").file in others      # and always the same one


def test_a_file_where_a_directory_has_to_be(store: Store) -> None:
    assert store.put("http://a.test/dir", "GET", b"1").file == "a.test/dir"
    below = store.put("http://a.test/dir/below", "GET", b"2").file
    assert below == f"a.test/{md5_name('/dir/below')}"
    assert store.put("http://a.test/dir/below", "GET", b"2").file == below
    assert store.put("http://a.test/b/c", "GET", b"3").file == "a.test/b/c"
    assert store.put("http://a.test/b", "GET", b"4").file == f"a.test/{md5_name('/b')}"


def test_the_older_one_can_be_kept(tmp_path: Path) -> None:
    for content in ("1", "2", "3"):
        store = Store(tmp_path, "demo")
        store.make()
        store.put("http://a.test/x", "GET", content.encode())
        store.write_manifest(note=content)
        store.publish(keep=True)
        store.clean_up()
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


@pytest.fixture
def old(tmp_path: Path) -> dict[str, dict[str, str]]:
    """Have a recording there, and one of another name; give what is in their folders."""
    names = ("demo", "demo.fetchlog", "demo.previous")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    return {name: {"old": "old"} for name in names}


@pytest.mark.parametrize("fails", [("fetchlog", "demo.fetchlog"), ("old-mirror", "demo.previous-2")])
def test_what_cannot_be_replaced_stays_in_its_place(tmp_path: Path, store: Store, old: dict[str, dict[str, str]],
                                                    monkeypatch: pytest.MonkeyPatch, fails: tuple[str, str]) -> None:
    """The disk is full when the new logs follow the new mirror, or when the older one is to be kept."""
    rename = Path.rename

    def full(self: Path, target: Path) -> Path:
        if (self.name, target.name) == fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match=f"Errno {errno.ENOSPC}"):
        store.publish(keep=True)
    store.clean_up()
    assert {path.name: tree(path) for path in tmp_path.iterdir()} == old


@pytest.fixture
def more(tmp_path: Path, store: Store) -> Iterator[Store]:
    """Publish two bodies; give a store to add to them."""
    for name in ("x", "y"):
        store.put(f"http://a.test/{name}", "GET", b"first")
    store.pages.append({"url": "http://a.test/x"})
    store.write_manifest()
    store.publish()
    added = Store(tmp_path, "demo")
    added.make()
    yield added
    added.clean_up()


def test_adding_to_a_recording_leaves_what_is_there_alone(tmp_path: Path, more: Store) -> None:
    more.continue_from_existing()
    assert more.pages == [{"url": "http://a.test/x"}]
    assert more.put("http://a.test/x", "GET", b"second").file != "a.test/x"
    assert tree(tmp_path / "demo") == {"a.test/x": "first", "a.test/y": "first"}
    more.publish()
    assert tree(tmp_path / "demo").pop("a.test/x") == "first"
    assert len(tree(tmp_path / "demo")) == 3


@pytest.mark.parametrize(("spoil", "why"), [
    (Path.unlink, r"^1 .* 2 .*a\.test/x; "),
    (lambda body: body.write_bytes(b"firsT"), r"^1 .* 2 .*a\.test/x; "),
    (lambda body: (body.parent.parent / "b.test").symlink_to("/tmp"),
     r"/demo/b\.test: ")])
def test_nothing_is_added_to_a_recording_that_is_not_all_there(tmp_path: Path, more: Store,
                                                               spoil: Callable[[Path], object], why: str) -> None:
    """Its new list of bodies would hide what is wrong; and nothing is written to where a link leads."""
    spoil(tmp_path / "demo" / "a.test" / "x")
    with pytest.raises(InputError, match=why):
        more.continue_from_existing()


@pytest.mark.parametrize("manifest", ["", "[]", '{"format": 1, "source": "synthetic", "pages": []}',
                                      '{"format": 3, "source": "recorded", "pages": []}',
                                      '{"format": 1, "source": "recorded"}'])
def test_nothing_is_added_to_a_recording_of_others(tmp_path: Path, store: Store, manifest: str) -> None:
    (tmp_path / "demo.fetchlog").mkdir()
    (tmp_path / "demo.fetchlog" / "manifest.json").write_text(manifest)
    with pytest.raises(InputError, match=r"manifest\.json:1: "):
        store.continue_from_existing()
