"""Reading numbers that were typed: every plain decimal within its bounds, and nothing else that Python takes."""

import argparse
from collections.abc import Callable

import pytest

from harness.system.options import DELAY_MS, RUNS, Decimal, OptionParser, Several, Whole, page_list_name

NO_NUMBERS = ["", " ", "nan", "-inf", "1e3", "1_0", "010", "+1", " 1", "1.", ".5", "0x10", "٣", "1,5", "9" * 400, "1\n"]


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("number", [Whole(-5, 10**9), Decimal(-5, 10**9), DELAY_MS], ids=str)
def test_what_is_no_plain_decimal_is_refused(text: str, number: Whole | Decimal) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        number(text)


@pytest.mark.parametrize(("read", "text", "value"), [
    (Whole(-10, 1000), "-10", -10), (Whole(-10, 1000), "1000", 1000), (Whole(-10, 1000), "-11", None),
    (Whole(-10, 1000), "1001", None), (Several(DELAY_MS), " 10  2.5", [10, 2.5]), (Several(DELAY_MS), "", None),
    (Several(DELAY_MS), "10 10.0", None), (Several(DELAY_MS), "10 nan", None), (DELAY_MS, "0", 0.0),
    (DELAY_MS, "60000.1", None), (DELAY_MS, "0.01", 0.01), (DELAY_MS, "0.001", None), (DELAY_MS, "1.234567", None),
    (DELAY_MS, "1.23456", 1.23456)])
def test_numbers_within_their_bounds(read: Callable[[str], object], text: str, value: object) -> None:
    """Of delays, with as many digits as stand in the names of folders: two that are told apart have different ones."""
    if value is None:
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)
    else:
        assert read(text) == value


@pytest.mark.parametrize("name", ["", "..", "-x", "a/b", "a b", "é", "a" * 201, "a\n"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        page_list_name(name)


def test_a_complaint_is_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    parser = OptionParser(prog="./x.py")
    parser.add_argument("--testruns", type=RUNS)
    for words in (["--testruns", "\x1b[2J\n"], ["--test", "3"], ["--testruns"], ["more\nthan", "one"]):
        with pytest.raises(SystemExit) as ended:
            parser.parse_args(words)
        said = capsys.readouterr()
        assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert said.err[:-1].isprintable()
        assert said.err.startswith("./x.py: ")
