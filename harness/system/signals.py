"""Ctrl-C, SIGTERM and their like end an experiment as an exception that unwinds it, then as the signal they were."""

import contextlib
import inspect
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from harness.errors import run_main
from harness.system.libc import call
from harness.system.namespaces import fork_into_namespace, inside
from harness.system.privileges import as_root, set_ids

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
NOT_HERE = {inspect.unwrap(function).__code__ for function in (inside, call, as_root, set_ids, fork_into_namespace)}
"""Functions that must not be broken off half way, between what they do and that it will be undone: the program would
stay in another namespace, or root, or clean up without being root. And contextlib's."""
AGAIN_S = 0.001
"""How much later it is looked whether we end, and else tried again; then twice that: a handler may last as long."""


class Interrupted(BaseException):
    """The user, or the system, wants us to end. Not an Exception: nothing but clean-up may stand in its way."""

    def __init__(self, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(signal.Signals(number).name)
        self.number = number


def run_interruptible(main: Callable[[], int]) -> None:
    """Run a script's `main`; on a signal let it clean up, then die of that signal so that the caller sees the truth."""
    for number in ENDING_SIGNALS:
        # What nohup made us ignore stays ignored. (bash ignores SIGINT for what runs in its background: that we want.)
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _complain
    try:
        run_main(main)
    except Interrupted as interrupted:
        print(f"stopped by {interrupted}; everything is cleaned up", file=sys.stderr, flush=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, _nothing)     # its handler would take the next line back
        signal.signal(interrupted.number, signal.SIG_DFL)
        os.kill(os.getpid(), interrupted.number)


def _interrupt(number: int, frame: FrameType | None, again_s: float = AGAIN_S) -> None:
    # One signal is enough: a second one must not break the clean-up that the first one began.
    # Not SIG_IGN: Python complains of a signal that was already pending then.
    for other in ENDING_SIGNALS:
        signal.signal(other, _nothing)
    if _is_on_its_way():
        return
    signal.signal(signal.SIGALRM, lambda _alarm, then: _interrupt(number, then, 2 * again_s))
    signal.setitimer(signal.ITIMER_REAL, again_s)
    if not _must_not_end_in(frame):
        raise Interrupted(number)


def _complain(unraisable: "sys.UnraisableHookArgs") -> None:
    """Say what Python ignores, as in `__del__`, but not of an Interrupted, which is raised again."""
    if not isinstance(unraisable.exc_value, Interrupted):
        sys.__unraisablehook__(unraisable)


def _is_on_its_way() -> bool:
    """Whether it is being cleaned up. An exception is lost where Python ignores it: in `__del__`, in asyncio's loop."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Interrupted):
        error = error.__context__
    return error is not None


def _must_not_end_in(frame: FrameType | None) -> bool:
    """Whether `frame` must not be broken off; of a signal's handler, whether what the signal came to must not."""
    while frame is not None and frame.f_code.co_filename == __file__:   # the next try may begin before this one returns
        frame = frame.f_back
    return frame is not None and (frame.f_code in NOT_HERE or frame.f_code.co_filename == contextlib.__file__)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
