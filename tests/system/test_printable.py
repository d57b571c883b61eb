"""Names and reasons come from web pages: shown as one line, they do nothing to a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError, printable, run_main
from harness.system.progress import Steps


@pytest.mark.parametrize(("text", "shown"), [
    ("plain, with spaces", "plain, with spaces"), ("\x1b[2J", "\\x1b[2J"), ("\x9b2J", "\\x9b2J"),
    ("a\nb\tc\r", "a\\nb\\tc\\r"),
    ("\u202etxt.exe", "\\u202etxt.exe"), ("a\u2028b", "a\\u2028b"), ("\udcff", "\\udcff"), ("\x7f\0", "\\x7f\\x00"),
    ("na\xefve \u65e5\u672c \U0001f600", "na\xefve \u65e5\u672c \U0001f600")])
def test_what_would_steer_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_any_text_becomes_one_encodable_line(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert all(character.isprintable() for character in shown)
    assert printable(shown) == shown


def test_errors_and_progress_are_printed_so(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise InputError("x\x1b[2J.pages:1: no such file")

    with pytest.raises(SystemExit, match="2"):
        run_main(fails)
    with Steps(1) as steps:
        steps.done("http://a.test/\x1b]0;owned\x07")
    captured = capsys.readouterr()
    assert captured.err == "x\\x1b[2J.pages:1: no such file\n"
    assert "http://a.test/\\x1b]0;owned\\x07" in captured.out + captured.err
    assert "\x1b" not in captured.out + captured.err
