"""Numbers that are none: every program's every numeric option refuses them, in one line and before anything is done.

Each program runs here up to its parser: what it would do afterwards is not reached.
"""

import argparse
import runpy
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.system.options import Decimal, Several, Whole

PROGRAMS = ["tfo.py", "fetch.py", "plot.py", "tfo-test/client.py", "tfo-test/delay_line.py", "tfo-test/http_tfo.py",
            "tfo-test/load_page.py", "tfo-test/server.py", "scripts/make_pages.py", "scripts/make_tiny.py",
            *sorted(str(path.relative_to(ROOT)) for folder in ("benchmarks", "experiments")
                    for path in (ROOT / folder).glob("*.py") if "OptionParser(" in path.read_text()),
            "scripts/layout.py", "connie/star.py", "connie/conbench.py"]
WITHOUT_HARNESS = ("tfo-test/client.py", "tfo-test/server.py", "connie/conbench.py")
"""Programs that run without the rest of TFO Lab: they know no version of it."""
NO_NUMBERS = ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "1e308", "1e9", "1e-300", "1_0", "010", "08", "-1",
              "-0.5", "4294967296", "9" * 400, "٣", "\uff11", "", " ", "0x10"]
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ReachedError(BaseException):
    """The program wants to read its options now."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def parser_of(program: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """Return the parser that a program makes."""
    def stop(parser: argparse.ArgumentParser, *_words: object) -> None:
        raise ReachedError(parser)

    handlers = {number: signal.getsignal(number) for number in ENDINGS}
    path = list(sys.path)
    monkeypatch.setattr(sys, "argv", [str(ROOT / program)])
    try:
        monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
        with pytest.raises(ReachedError) as reached:
            runpy.run_path(str(ROOT / program), run_name="__main__")
    finally:
        monkeypatch.undo()
        sys.path[:] = path
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return reached.value.parser


def numeric(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Give every option or argument whose value is read as a number."""
    for action in parser._actions:
        returned = getattr(action.type, "__annotations__", {}).get("return")
        if action.type in (int, float) or isinstance(action.type, Whole | Decimal | Several) \
                or returned in (int, float):
            yield action


def answer(parser: argparse.ArgumentParser, action: argparse.Action, text: str) -> Any:
    """Return the number that is read, None when it is refused."""
    try:
        return parser._get_value(action, text)
    except (argparse.ArgumentError, SystemExit):
        return None


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_takes_what_is_no_number(program: str, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    parser = parser_of(program, monkeypatch)
    assert "--version" in parser.format_help() or program in WITHOUT_HARNESS
    for action in numeric(parser):
        assert action.type not in (int, float), f"{action.dest}: Python's own readers take 1_0 and nan"
        for text in NO_NUMBERS:
            assert answer(parser, action, text) is None, (program, action.dest, text)
        capsys.readouterr()
        if action.option_strings:
            with pytest.raises(SystemExit) as ended:
                parser.parse_args([f"{action.option_strings[0]}=nan"])
            said = capsys.readouterr().err
            assert (ended.value.code, said.count("\n")) == (2, 1), said
