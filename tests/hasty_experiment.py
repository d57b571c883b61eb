"""tfo.py that is content with little: `hasty_experiment.py QUIET_S [options of tfo.py]`.

A load ends after QUIET_S seconds of silence instead of 1.5, and --until-ci takes two pairs for an interval. What it
does, decides and writes is the same, only sooner: the usual silence is there to see a lost SYN sent again, after 1 s.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tfo
from harness import adaptive, tfo_options
from harness.loads import Limits
from harness.signals import run_interruptible

if __name__ == "__main__":
    vars(adaptive)["MINIMUM_PAIRS"] = vars(tfo_options)["MINIMUM_PAIRS"] = 2
    vars(tfo)["Limits"] = partial(Limits, quiet_s=float(sys.argv.pop(1)))
    run_interruptible(tfo.main)
