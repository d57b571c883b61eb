"""``--version`` of every program: what it is and what it would run on, the first line of a bug report."""

import argparse
import os
import platform
from typing import Any

from harness.errors import InputError, printable

VERSION = "1.0.0"
"""Of TFO Lab."""


class ShowVersion(argparse.Action):
    """Prints the line, and ends the program with status 0."""

    def __init__(self, option_strings: Any, dest: str, **_: Any) -> None:
        """Take no value."""
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS,
                         help="TFO Lab's version and commit, Chrome, driver, kernel, and what delays packets")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and exit."""
        print(printable(version_line()))
        parser.exit()


def version_line() -> str:
    """Return versions and commit in one line; it needs no root, but only root knows what delays packets."""
    from harness.system.environment import git_state

    return (f"TFO Lab {VERSION}, commit {git_state() or 'unknown'}; {_browser()}; Linux {platform.release()}; "
            f"delay by {_delay_by()}")


def _browser() -> str:
    from harness.browser.program import find_browser, version_of

    try:
        browser = find_browser()
    except InputError:
        return "no Chrome with a driver of its version"
    return f"{version_of(browser) or browser.binary}; {version_of(browser, browser.driver) or browser.driver}"


def _delay_by() -> str:
    if os.geteuid() != 0:
        return "(only root can find out)"
    from harness.network.needs import kernel_has_netem

    return "netem" if kernel_has_netem() else "delay line"
