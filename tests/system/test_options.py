"""Reading numbers that were typed: every plain decimal within its bounds, and nothing else that Python takes."""

import argparse
from collections.abc import Callable
from itertools import product

import pytest

from harness.system.options import DELAY_MS, Decimal, OptionParser, Several, Whole, page_list_name

NO_NUMBERS = ["", "nan", "1e3", "1_0", "010", "+1", " 1", "1.", ".5", "0x10", "٣", "9" * 400, "1\n"]


NUMBER, DELAYS = Whole(-10, 1000), Several(DELAY_MS)
OTHERS = [(NUMBER, "-11"), (NUMBER, "1001"), (DELAYS, ""), (DELAYS, "10 10.0"),
          (DELAY_MS, "60000.1"), (DELAY_MS, "0.001"), (DELAY_MS, "1.234567")]


@pytest.mark.parametrize(("read", "text"), [*product((NUMBER, Decimal(-5, 10**9), DELAY_MS), NO_NUMBERS), *OTHERS])
def test_what_is_no_plain_decimal_within_its_bounds_is_refused(read: Callable[[str], object], text: str) -> None:
    """Of delays, with as many digits as stand in the names of folders: two that are told apart have different ones."""
    with pytest.raises(argparse.ArgumentTypeError):
        read(text)


@pytest.mark.parametrize(("read", "text", "value"), [
    (NUMBER, "-10", -10), (NUMBER, "1000", 1000), (DELAYS, " 10  2.5", [10, 2.5]), (DELAY_MS, "0", 0.0),
    (DELAY_MS, "0.01", 0.01), (DELAY_MS, "1.23456", 1.23456)])
def test_numbers_within_their_bounds(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize("name", ["", "..", "-x", "a/b", "a b", "é", "a" * 201, "a\n"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        page_list_name(name)


def test_a_complaint_is_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Of what programs of ours refuse: tests/programs/refusals.tsv."""
    with pytest.raises(SystemExit, match="2"):
        OptionParser(prog="./x.py").parse_args(["more\nthan", "\x1b[2J"])
    said = capsys.readouterr().err
    assert said.startswith("./x.py: ")
    assert said[:-1].isprintable()
