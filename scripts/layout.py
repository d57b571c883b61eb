#!/usr/bin/env python3
"""Print which hosts of a recording share a server, as a file for tfo.py --layout: lines of host and server.

    ./scripts/layout.py --name Paper --layout domain > paper.layout       # to begin with, and edit
    ./scripts/layout.py --name Here --layout recorded > here.layout

So a layout that was recorded at one vantage point can be given to a recording from another: hosts that it lacks are
left out with a note, those that it does not name have servers of their own.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import printable, run_main
from harness.files.hosts import CHOICES, RECORDED, format_layout
from harness.files.pages import PageFiles
from harness.measure.settings import add_options, settings_of
from harness.mirror.recording import read_recording
from harness.mirror.servers import make_layout
from harness.system.options import OptionParser
from harness.system.privileges import leave_root


def main() -> int:
    """Print the layout."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    add_options(parser, ("name",))
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are (the project)")
    parser.add_argument("--layout", choices=CHOICES, default=RECORDED, help="as of tfo.py (%(default)s)")
    arguments = parser.parse_args()
    leave_root()
    files = PageFiles(arguments.dir, settings_of(parser, arguments).name)
    recording = read_recording(files.mirror, files.fetchlog)
    hosts = recording.hosts()
    layout, _ = make_layout(arguments.layout, recording)
    print(f"# {layout.in_words(hosts)}, of {printable(files.name)}")
    print(format_layout(layout, hosts), end="")
    return 0


if __name__ == "__main__":
    run_main(main)
