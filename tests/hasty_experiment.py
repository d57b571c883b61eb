"""tfo.py that is content with little: two pairs make an interval, and a load ends after 0.2 s of silence.

Run by test_until_ci.py, with the options of tfo.py: what it decides and writes is the same, only sooner.
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
    vars(tfo)["Limits"] = partial(Limits, quiet_s=0.2)
    run_interruptible(tfo.main)
