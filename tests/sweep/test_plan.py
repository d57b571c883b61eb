"""A unit's key is what is in it, and options that come by the network are checked."""

from dataclasses import replace

import pytest

from harness.errors import InputError
from harness.sweep.plan import Versions, check_options, grid
from tests.support.made_units import unit


def test_the_same_content_has_the_same_key_and_any_other_another() -> None:
    first = unit()
    assert first.key == unit().key
    others = [replace(first, url="http://other.test/"), replace(first, recording="another"),
              replace(first, options=()),
              replace(first, versions=Versions("a later program", first.versions.browser)),
              replace(first, versions=Versions(first.versions.tfo_lab, "a later Chrome"))]
    assert len({first.key, *(other.key for other in others)}) == 1 + len(others)


def test_options_are_put_in_order_so_that_they_mean_one_unit() -> None:
    assert check_options(["--testruns", "3", "--predict", "--http=1.1"]) == ("--http=1.1", "--predict", "--testruns=3")
    assert check_options(["--think", "recorded", "--rtt=recorded"]) == ("--rtt=recorded", "--think=recorded")
    assert check_options([]) == ()


@pytest.mark.parametrize("words", [
    ["--on-user", "id"], ["--on-user=id"], ["--dir", "/"], ["--name=x"], ["--pcap"], ["--dry-run"], ["--resume"],
    ["--delaynet", "5"], ["--sweep-rtt=5"], ["x"], ["--http=1.1", "extra"], ["-x"], ["--port=1024"],
    ["--tfo=0"]])
def test_options_that_are_none_of_a_sweep_are_refused(words: list[str]) -> None:
    """Some would run a command or write elsewhere, as root, on every worker."""
    with pytest.raises(InputError, match=r"is no option of a sweep"):
        check_options(words)


def test_wrong_values_are_found_before_anything_is_sent() -> None:
    for words in (["--quiet=5", "--quiet-limit=1"], ["--rtt=recorded*2", "--delays=5"], ["--testruns=1"],
                  ["--delays=10 600"], ["--delays=500"], ["--delays=450", "--delayhome=100"]):
        with pytest.raises(SystemExit):
            check_options(words)
    assert check_options(["--delays=10 450", "--delayhome=49"]) == ("--delayhome=49", "--delays=10 450")


def test_quic_is_nothing_for_a_sweep() -> None:
    with pytest.raises(InputError, match=r"--http h3"):
        check_options(["--http=h3"])


def test_a_layout_is_a_word_since_a_file_would_be_one_of_the_workers() -> None:
    assert check_options(["--layout", "domain"]) == ("--layout=domain",)
    for value in (["/etc/passwd"], []):
        with pytest.raises(InputError, match="--layout: one of host, domain, one, recorded; a file of one site"):
            check_options(["--layout", *value])


def test_a_grid_is_all_combinations() -> None:
    assert grid({"http": ["1.0", "1.1"], "predict": [False, True], "seed": 2}, "grid.toml") == [
        ("--http=1.0", "--seed=2"), ("--http=1.0", "--predict", "--seed=2"),
        ("--http=1.1", "--seed=2"), ("--http=1.1", "--predict", "--seed=2")]
    with pytest.raises(InputError, match=r"grid.toml: http: write a value or a list"):
        grid({"http": {"a": 1}}, "grid.toml")
    with pytest.raises(InputError, match=r"more than 1000 combinations"):
        grid({"seed": list(range(40)), "retries": list(range(40))}, "grid.toml")
