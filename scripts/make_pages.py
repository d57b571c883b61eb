#!/usr/bin/env python3
"""Make the synthetic pages: the mirror NAME/ and its logs NAME.fetchlog/ (see harness/synthetic)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()


from harness.errors import InputError
from harness.files.pages import BUNDLED, PageFiles
from harness.measure.folders import require_writable
from harness.synthetic.build import DEFAULT_SEED, make_pages
from harness.synthetic.shape import SHAPE_FILE
from harness.system.atomic import write_atomically
from harness.system.options import SEED, OptionParser, page_list_name
from harness.system.privileges import invoking_user, leave_root
from harness.system.signals import run_interruptible

SHAPES = {name: ROOT / "demo" / shape for name, shape in (
    ("Small", "demo.shape"), ("Small-https", "demo.shape"), ("tiny", "tiny.shape"))}
"""What pages of these names are made of."""


def main() -> int:
    """Make what is missing and say what was done. Exit status 2 for wrong input."""
    parser = OptionParser(description="Make the synthetic pages of NAME.pages unless they are there.")
    parser.add_argument("--name", type=page_list_name, default=BUNDLED,
                        help="the list of pages is NAME.pages (default: %(default)s)")
    parser.add_argument("--seed", type=SEED, default=DEFAULT_SEED,
                        help="the same seed gives the same bytes (%(default)s)")
    parser.add_argument("--shape", type=Path, metavar="FILE",
                        help="page-shape file to make them from, such as scripts/shape.py writes (default: the paper's "
                        "pages; of Small and tiny demo/*.shape); without NAME.pages all its pages. How far its servers "
                        "were, FILE's .rtts, goes to NAME.rtts")
    parser.add_argument("--https", action="store_true", help="all of it over TLS; without NAME.pages all of FILE's "
                        "pages")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where NAME.pages is (default: the project's)")
    options = parser.parse_args()
    leave_root()
    if not options.directory.is_dir():
        raise InputError(f"{options.directory}:1: no such folder; choose another --directory")
    files = PageFiles(options.directory, options.name)
    shape = options.shape or SHAPES.get(options.name, SHAPE_FILE)
    try:
        print(make_pages(options.directory, options.name, options.seed, shape, https=options.https))
        distances = shape.with_suffix(".rtts")
        if distances.is_file() and not files.rtts.exists():
            write_atomically(files.rtts, distances.read_bytes())
    except PermissionError as error:
        require_writable(options.directory, invoking_user())    # such as a clone that sudo made
        raise InputError(f"{error.filename}:1: cannot be read or written ({error.strerror}); choose another "
                         "--directory") from None
    return 0


if __name__ == "__main__":
    run_interruptible(main)
