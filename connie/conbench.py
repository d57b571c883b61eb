#!/usr/bin/env python3
"""`python -m connie.bench` under its name of 2013: ./connie/conbench.py google.com apple.com."""

import sys
from pathlib import Path

# A script's own folder is where Python looks for modules first, and this one's http.py would hide Python's own.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from connie.bench.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
