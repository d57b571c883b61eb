"""Reading numbers that were typed: every plain decimal within its bounds, and nothing else that Python takes."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.system.options import DELAY_MS, RUNS, Decimal, OptionParser, Several, Whole, page_list_name

NO_NUMBERS = ["", " ", "nan", "NaN", "inf", "-inf", "infinity", "1e3", "1E3", "1_0", "010", "08", "00", "+1", " 1",
              "1 ", "1.", ".5", "0x10", "٣", "\uff11\uff10", "1,5", "--1", "1e-300", "9" * 400, "1\n", "²"]


def accepted(number: Whole | Decimal | Several, text: str) -> object:
    """Return what was read, None when it was refused as such."""
    try:
        return number(text)
    except argparse.ArgumentTypeError:
        return None


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("number", [Whole(-5, 10**9), Decimal(-5, 10**9), DELAY_MS], ids=str)
def test_what_is_no_plain_decimal_is_refused(text: str, number: Whole | Decimal) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        number(text)


@given(st.integers(-2000, 2000))
def test_whole_numbers_within_their_bounds(value: int) -> None:
    number = Whole(-10, 1000)
    if -10 <= value <= 1000:
        assert number(str(value)) == value
    else:
        with pytest.raises(argparse.ArgumentTypeError, match=r"-10 .* 1000"):
            number(str(value))


@given(st.floats(0.01, 60_000))
def test_delays_have_as_many_digits_as_folders_names(value: float) -> None:
    """Two delays that are told apart here have folders of different names."""
    for text in (f"{value:.12f}", f"{value:.3f}", f"{value:.0f}"):
        if (read := accepted(DELAY_MS, text)) is not None:
            assert float(f"{read:g}") == read == float(text)
        else:
            assert float(f"{float(text):.6g}") != float(text) or not 0.01 <= float(text) <= 60_000


def test_several_numbers() -> None:
    assert Several(DELAY_MS)(" 10  2.5") == [10, 2.5]
    for text in ("", "10 10.0", "10 nan"):
        with pytest.raises(argparse.ArgumentTypeError):
            Several(DELAY_MS)(text)


@pytest.mark.parametrize("name", ["", ".", "..", "-x", ".hidden", "a/b", "a b", "é", "a" * 201, "a\n"])
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
