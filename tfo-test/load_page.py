#!/usr/bin/env python3
"""Load one page in headless Chrome on this host and write down what happened.

tfo.py does the same for each load, in a fork of itself that lives in `user`'s network namespace
(harness/measure/loading.py).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import run_main
from harness.measure.loading import load_page, read_page_load
from harness.system.options import OptionParser


def main() -> int:
    """Load the page; the exit status is 1 when the load failed."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("load", metavar="JSON", help="what to load, and how: harness/measure/loading.py")
    return load_page(read_page_load(parser.parse_args().load))


if __name__ == "__main__":
    run_main(main)
