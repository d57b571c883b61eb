"""Run a benchmark that stops itself in a process of its own, so that its caller sees none of that.

sudo(8) stands still when the process that it started is stopped, and its shell says "Stopped": nobody lets it go on.
"""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from harness.system.processes import die_with_parent
from harness.system.signals import ENDING_SIGNALS, run_interruptible


def run_apart(main: Callable[[], int]) -> None:
    """Run a script's `main` as `run_interruptible` does, in a child; end as it ended."""
    parent, child = os.getpid(), os.fork()
    if child == 0:
        die_with_parent(parent)
        run_interruptible(main)
        return

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in ENDING_SIGNALS:
        signal.signal(number, pass_on)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(parent, -status)
    sys.exit(status)
