#!/usr/bin/env python3
"""Make one small page on two hosts: tiny.pages, the mirror tiny/ and its logs tiny.fetchlog/.

For where Chrome is slow, as in an emulated machine: three requests, a few kilobytes. The document names a style sheet
of its own host and a script of another one, so that warm loads have three connections, two of them in parallel.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import InputError, run_main
from harness.files.pages import PageFiles
from harness.mirror.importing import MadeResource, write_small_recording
from harness.system.options import OptionParser, page_list_name
from harness.system.privileges import User, act_as, leave_root

PAGE = "http://www.tiny.test/"
DOCUMENT = ('<!doctype html><title>tiny</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">'
            '<p id="words">One small page.</p><script src="http://static.tiny.test/words.js"></script>\n')
RESOURCES = {
    PAGE: MadeResource("text/html", DOCUMENT.encode()),
    "http://www.tiny.test/style.css": MadeResource("text/css", b"p { color: green }\n"),
    "http://static.tiny.test/words.js": MadeResource("text/javascript", b"document.title = 'tiny, loaded';\n"),
}


def make_tiny(directory: Path, name: str) -> None:
    """Write ``name.pages``, ``name/`` and ``name.fetchlog/`` to `directory`.

    Raises InputError when one of them is there already, since it may be a recording, or when `directory` is of no use.
    """
    try:
        owner = directory.stat()
        act_as(User("", owner.st_uid, owner.st_gid))        # root itself makes it for whose folder it is
        _make_new(PageFiles(directory, name))
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"{directory}: cannot be written ({error.strerror}); choose another --directory") from None


def _make_new(files: PageFiles) -> None:
    for path in (files.pages, files.mirror, files.fetchlog):
        if path.is_symlink() or path.exists():
            raise InputError(f"{path}:1: it is there already; choose another --name or move it away")
    write_small_recording(files, RESOURCES, "One page that never was, made by scripts/make_tiny.py.")


def main() -> int:
    """Make the page and say how to load it. Exit status 2 when something of that name is there."""
    parser = OptionParser(description="Make one small page on two hosts.")
    parser.add_argument("--name", type=page_list_name, default="tiny",
                        help="makes NAME.pages, NAME/ and NAME.fetchlog/ (%(default)s)")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where (default: the project's)")
    options = parser.parse_args()
    leave_root()
    make_tiny(options.directory, options.name)
    print(f"made {options.name}: one page on two hosts; load it with: "
          f"sudo ./run.sh --quick --delays 50 --name {options.name}")
    return 0


if __name__ == "__main__":
    run_main(main)
