#!/usr/bin/env python3
"""Connect to hosts by racing and otherwise, and print how long that took: `python -m connie.bench`, not installed.

    ./connie/conbench.py google.com apple.com
    ./connie/conbench.py --peers --port 443 --file hosts.txt
"""

import sys
from pathlib import Path

# A script's own folder is where Python looks for modules first, and this one's http.py would hide Python's own.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(folder for folder in sys.path if folder != str(HERE))]
from connie.bench.project_python import use_project_python

use_project_python()

from connie.bench.__main__ import main

if __name__ == "__main__":
    main()
