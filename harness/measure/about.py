"""What ``--version`` of every program prints: what it is and what it would run on, the first line of a bug report."""

import os
import platform

from harness.browser.program import find_browser, version_of
from harness.errors import InputError, printable
from harness.network.needs import kernel_has_netem
from harness.system.environment import git_state

VERSION = "1.0.0"
"""Of TFO Lab."""


def version_line() -> str:
    """Return versions and commit in one line; it needs no root, but only root knows what delays packets."""
    return (f"TFO Lab {VERSION}, commit {git_state() or 'unknown'}; {_browser()}; Linux {platform.release()}; "
            f"delay by {_delay_by()}")


def _browser() -> str:
    try:
        browser = find_browser()
    except InputError:
        return "no Chrome with a driver of its version"
    return f"{version_of(browser.binary) or browser.binary}; {version_of(browser.driver) or browser.driver}"


def _delay_by() -> str:
    if os.geteuid() != 0:
        return "(only root can find out)"
    return "netem" if kernel_has_netem() else "delay line"


if __name__ == "__main__":
    print(printable(version_line()))
