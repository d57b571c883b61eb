"""Files of a mirror: however hostile a name is, nothing outside of its host's folder is written, opened or listed."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.mirror.paths import hosts, list_files, lookups, mirror_file, open_file, write_file
from tests.support.nested import nested

HOSTILE_PARTS = st.sampled_from([
    "..", ".", "", "\0", "%00", "%2f", "%2F", "%2e%2e", "%2e", "..%2f..", "\\", "..\\..", "a", "b?c", "#", "?",
    "x" * 256, "\udce9", "é", "\ud800", "%", "%zz", "etc", "passwd", "~", " "])
HOSTILE = st.one_of(st.text(), st.lists(HOSTILE_PARTS, max_size=8).map("/".join), st.lists(HOSTILE_PARTS).map("".join))


@given(HOSTILE)
def test_no_name_leaves_the_host(path: str) -> None:
    for name in [mirror_file(path), *lookups(path)]:
        assert "\0" not in name
        assert not {"", ".", ".."} & set(name.split("/"))
        assert all(len(os.fsencode(part)) <= 255 for part in name.split("/"))


@pytest.fixture(scope="module")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host's directory with a secret beside it and links that lead to the secret."""
    mirror: Path = tmp_path_factory.mktemp("mirror")
    host = mirror / "host"
    (host / "deep").mkdir(parents=True)
    for name, text in (("secret", "secret"), ("host/file", "public"), ("host/deep/file", "public")):
        (mirror / name).write_text(text)
    (host / "link").symlink_to("../secret")
    (host / "out").symlink_to("..")
    os.mkfifo(host / "pipe")
    return host


@given(HOSTILE | st.sampled_from(["link", "out/secret", "../secret", "deep/../../secret", "pipe", "deep", "/etc/passwd",
                                  "deep/file"]))
def test_opening_never_leaves_the_host(fortress: Path, name: str) -> None:
    directory = os.open(fortress, os.O_PATH)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with suppress(OSError):
        file = open_file(directory, name)
        assert os.read(file, 10) == b"public"
        os.close(file)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    os.close(directory)


def test_listing_leaves_links_and_pipes_out(fortress: Path) -> None:
    assert list_files(fortress) == {"file", "deep/file"}
    assert list_files(fortress / "nothing") == frozenset()


@settings(deadline=None)
@given(st.just("host.test") | st.text(max_size=30) | st.sampled_from(["..", "a/../b", "a\0b", "%2e%2e", "[::1]"]),
       st.text("abcZ09-._~!$&'()*+,;=:@%20/?&=7C|", max_size=170) | HOSTILE)
def test_what_was_written_is_found_again_and_nowhere_else(
        tmp_path_factory: pytest.TempPathFactory, host: str, path: str) -> None:
    mirror = tmp_path_factory.getbasetemp() / "found" / "mirror"
    with suppress(ValueError, OSError):
        file = write_file(mirror, f"http://{host}/{path}", b"")
        assert file.resolve().is_relative_to(mirror.resolve())
        target = f"/{path}" if host == "host.test" else None
        assert target is None or file.relative_to(mirror / host).as_posix() in lookups(target)
    assert {entry.name for entry in mirror.parent.glob("*")} <= {"mirror"}


def test_a_directory_that_is_no_host_ends_the_run(tmp_path: Path) -> None:
    for known in ("b.test", "a.test", ".git"):
        (tmp_path / known).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/etc")
    assert hosts(tmp_path) == ["a.test", "b.test"]
    (tmp_path / "www.a.test 0.0.0.0 -\nb.test").mkdir()
    for wrong in (tmp_path, tmp_path / "nothing", tmp_path / ".git"):
        with pytest.raises(InputError, match=f"^{wrong}: .*$"):
            hosts(wrong)


def test_folders_that_are_nested_a_thousandfold(tmp_path: Path) -> None:
    with nested(tmp_path, 1100):
        assert list_files(tmp_path) == {f"{'d/' * 1100}file"}
