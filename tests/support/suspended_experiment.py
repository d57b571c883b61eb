"""tfo.py on a machine that seems to have been suspended: at SIGUSR1 CLOCK_BOOTTIME runs ahead of CLOCK_MONOTONIC.

    suspended_experiment.py [options of tfo.py]

It does not wait for other programs before it measures: its --patience is for the RTT alone.
"""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import tfo
from harness.system import environment
from harness.system.signals import run_interruptible

SUSPEND_MS = 5000.0


class Suspended:
    """What harness.system.environment.suspended_ms returns here."""

    def __init__(self) -> None:
        self.real, self.ahead_ms = environment.suspended_ms, 0.0

    def __call__(self) -> float:
        return self.real() + self.ahead_ms

    def once_more(self, *_: object) -> None:
        self.ahead_ms += SUSPEND_MS


def do_not_wait(_patience_s: float) -> list[str]:
    """Stand in for harness.system.environment.wait_for_quiet: nothing keeps the machine busy."""
    return []


if __name__ == "__main__":
    suspended = Suspended()
    signal.signal(signal.SIGUSR1, suspended.once_more)
    vars(environment)["suspended_ms"] = suspended
    vars(tfo)["wait_for_quiet"] = do_not_wait
    run_interruptible(tfo.main)
