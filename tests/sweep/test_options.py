"""Which sweep the command line asks for."""

import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.sweep import options
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings, asked_for, parse_arguments
from tests.support.made_units import VERSIONS


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a list of one page; the versions are those of no program."""
    monkeypatch.setattr(options, "own_versions", lambda: VERSIONS)
    (tmp_path / "list.pages").write_text("http://one.test/\n")
    return tmp_path / "list.pages"


def asked(monkeypatch: pytest.MonkeyPatch, *words: str) -> SweepSettings:
    """Return what the command line `words` asks for."""
    monkeypatch.setattr(sys, "argv", ["sweep.py", *words])
    return asked_for(parse_arguments(""))[0]


def test_equal_combinations_of_a_grid_are_one(pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each site would count twice among those that intervals are drawn from."""
    grid = pages.with_name("grid.toml")
    grid.write_text('http = ["1.1", 1.1, "1.0"]')
    found = asked(monkeypatch, "--pages", str(pages), "--grid", str(grid))
    assert found.combinations == (("--http=1.1",), ("--http=1.0",))


@pytest.mark.parametrize("words", [("--delays", "5"), ("--http=1.1",), ("--grid", "grid.toml"), ("--name", "other")])
@pytest.mark.parametrize("what", ["--resume", "--report"])
def test_what_was_begun_goes_on_as_it_was(monkeypatch: pytest.MonkeyPatch, what: str, words: tuple[str, ...]) -> None:
    """Other options were ignored, and something else measured than was asked for."""
    with pytest.raises(InputError, match=rf"^sweep.py: {words[0]}: not for a sweep that was begun without"):
        asked(monkeypatch, what, "x", *words)


def test_what_the_list_is_a_sample_of_is_kept(pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that was begun before there was this option goes on, too."""
    at = ("--dir", str(pages.parent))
    for words, kept in (((), ""), (("--sample-of", "Tranco, ranks 1 to 9"), "Tranco, ranks 1 to 9")):
        begun = asked(monkeypatch, "--pages", str(pages), *at, *words)
        SweepFolder(pages.parent, "list").make()
        SweepFolder(pages.parent, "list").write("sweep.json", begun.to_json())
        assert asked(monkeypatch, "--resume", "list", *at).sample_of == kept
    assert asked(monkeypatch, "--report", "list", *at, "--sample-of", "another").sample_of == "another"
    SweepFolder(pages.parent, "list").write("sweep.json", {
        name: value for name, value in begun.to_json().items() if name != "sample_of"})
    assert asked(monkeypatch, "--resume", "list", *at).sample_of == ""


def test_it_goes_on_where_it_measured(pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, --resume without --hosts measured the rest on this machine, or wanted root for it."""
    at = ("--dir", str(pages.parent))
    folder = SweepFolder(pages.parent, "list")
    folder.make()

    def resumed(*words: str) -> tuple[str, tuple[str, ...], str]:
        found = asked(monkeypatch, "--resume", "list", *at, *words)
        folder.write("sweep.json", found.to_json())
        return found.scheduler, found.hosts, found.remote

    begun = asked(monkeypatch, "--pages", str(pages), *at, "--hosts", "lab1,lab2", "--remote", "/opt/tfo")
    folder.write("sweep.json", begun.to_json())
    assert resumed() == ("", ("lab1", "lab2"), "/opt/tfo")
    assert resumed("--hosts", "lab3") == ("", ("lab3",), "/opt/tfo")
    assert resumed("--scheduler", "tls://lab:8786") == ("tls://lab:8786", (), "/opt/tfo")
    assert resumed() == ("tls://lab:8786", (), "/opt/tfo")
    assert resumed("--here") == ("", (), "/opt/tfo")
    old = {name: value for name, value in begun.to_json().items() if name not in ("scheduler", "hosts", "remote")}
    folder.write("sweep.json", old)
    assert resumed() == ("", (), str(ROOT)), "of a sweep that was begun before this was noted"


@pytest.mark.parametrize("spoiled", [{"scheduler": "lab:8786"}, {"hosts": ["-oProxyCommand=id"]}, {"hosts": 3}])
def test_a_spoiled_place_is_one_line(pages: Path, monkeypatch: pytest.MonkeyPatch, spoiled: dict[str, object]) -> None:
    at = ("--dir", str(pages.parent))
    begun = asked(monkeypatch, "--pages", str(pages), *at)
    folder = SweepFolder(pages.parent, "list")
    folder.make()
    folder.write("sweep.json", {**begun.to_json(), **spoiled})
    with pytest.raises(InputError, match=r"sweep.json:1: not what a sweep was asked for"):
        asked(monkeypatch, "--resume", "list", *at)
