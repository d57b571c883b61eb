"""Which sweep the command line asks for: its options, its units, and with which a sweep that was begun goes on."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.sweep import options
from harness.sweep.folder import SweepFolder
from harness.sweep.options import ASKED, SweepSettings, asked_for, parse_arguments, remember
from harness.sweep.plan import check_options, grid
from tests.support.made_units import VERSIONS, unit
from tests.support.noted import JsonObject, each_case


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a list of one page; the versions are those of no program."""
    monkeypatch.setattr(options, "own_versions", lambda: VERSIONS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.pages").write_text("http://one.test/\n")
    return tmp_path / "list.pages"


def begun(pages: Path, *words: str) -> SweepSettings:
    """Return what a sweep of `pages` asks for that is begun with `words`; its folder is made."""
    typed = parse_arguments("", ["--pages", pages.name, "--dir", str(pages.parent), *words])
    asked, folder = asked_for(typed)
    folder.make()
    remember(asked, folder)
    return asked


def resumed(pages: Path, *words: str, what: str = "--resume") -> SweepSettings:
    """Return what a sweep that was begun asks for when it goes on elsewhere."""
    return asked_for(parse_arguments("", [what, "list", "--dir", str(pages.parent), *words]))[0]


def test_equal_combinations_of_a_grid_are_one(pages: Path) -> None:
    """Otherwise each site would count twice among those that intervals are drawn from."""
    (pages.parent / "grid.toml").write_text('http = ["1.1", 1.1, "1.0"]')
    asked = begun(pages, "--grid", "grid.toml", "--testruns", "3")
    assert asked.combinations == tuple(("--delays=10 50 100", f"--http={http}", "--testruns=3")
                                       for http in ("1.1", "1.0"))
    assert resumed(pages) == asked


@pytest.mark.parametrize("words", [("--delays", "5"), ("--http=1.1",), ("--grid", "grid.toml"), ("--name", "other")])
@pytest.mark.parametrize("what", ["--resume", "--report"])
def test_what_was_begun_goes_on_as_it_was(pages: Path, what: str, words: tuple[str, ...]) -> None:
    """Other options were ignored, and something else measured than was asked for."""
    begun(pages)
    with pytest.raises(InputError, match=words[0].partition("=")[0]):
        resumed(pages, *words, what=what)


@pytest.mark.parametrize(("words", "where", "sample_of"), [
    ((), ("lab1", "root@lab2"), "Tranco"), (("--hosts", "lab3"), ("lab3",), "Tranco"), (("--here",), (), "Tranco"),
    (("--scheduler", "tls://lab:8786"), "tls://lab:8786", "Tranco"),
    (("--sample-of", "another"), ("lab1", "root@lab2"), "another")])
def test_it_goes_on_where_it_measured_unless_another_place_is_said(
        pages: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], where: object, sample_of: str) -> None:
    """Before, --resume without --hosts measured the rest on this machine, or wanted root for it."""
    first = begun(pages, "--hosts", "lab1,root@lab2", "--sample-of", "Tranco", "--again")
    monkeypatch.chdir("/")
    found = resumed(pages, *words)
    assert (found.where, found.sample_of) == (where, sample_of)
    assert (found.pages, found.combinations) == (first.pages, first.combinations)
    assert not parse_arguments("", ["--resume", "list", "--dir", str(pages.parent)]).again


def test_a_spoiled_file_is_one_line(pages: Path) -> None:
    folder = SweepFolder(pages.parent, "list")
    folder.make()
    (folder.path / ASKED).write_text('{"pages": "x", "versions": {}, "combinations": []}')
    with pytest.raises(InputError, match=r"sweep\.json:1"):
        resumed(pages)


def test_the_same_content_has_the_same_key_and_any_other_another() -> None:
    first, versions = unit(), VERSIONS
    others = [replace(first, **changed) for changed in (
        {"url": "http://other.test/"}, {"recording": "another"}, {"options": ()},
        {"versions": replace(versions, tfo_lab="later")}, {"versions": replace(versions, browser="later")})]
    assert len({first.key, unit().key, *(other.key for other in others)}) == 1 + len(others)


@each_case("sweep/options.jsonl")
def test_each_command_line_means_the_options_beside_it_or_is_refused(case: JsonObject,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of their names, so that they mean one unit. What is refused would run a command or write elsewhere,
    as root, on every worker, or would fail there: it ends with a line and exit status 2.
    """
    if "refused" not in case:
        assert check_options(case["words"]) == tuple(case["options"])
        return
    with pytest.raises(SystemExit) as refused:
        check_options(case["words"])
    assert (refused.value.code, capsys.readouterr().err.count("\n")) == (2, 1)


def test_a_grid_is_all_combinations() -> None:
    assert grid({"http": ["1.0", "1.1"], "predict": [False, True], "seed": 2}, "grid.toml") == [
        ("--http=1.0", "--seed=2"), ("--http=1.0", "--predict", "--seed=2"),
        ("--http=1.1", "--seed=2"), ("--http=1.1", "--predict", "--seed=2")]
    with pytest.raises(InputError, match=r"grid\.toml: http: "):
        grid({"http": {"a": 1}}, "grid.toml")
