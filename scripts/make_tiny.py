#!/usr/bin/env python3
"""Make one small page on two hosts: tiny.pages, the mirror tiny/ and its logs tiny.fetchlog/.

For where Chrome is slow, as in an emulated machine: three requests, a few kilobytes. The document names a style sheet
of its own host and a script of another one, so that warm loads have three connections, two of them in parallel.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import InputError, run_main
from harness.files.pages import PageFiles, sanitise
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.mirror.manifest import MANIFEST, MANIFEST_FORMAT
from harness.mirror.paths import write_file
from harness.system.options import OptionParser, page_list_name
from harness.system.privileges import User, give

PAGE = "http://www.tiny.test/"
FILES = {
    PAGE: ("text/html", '<!doctype html><title>tiny</title><link rel="icon" href="data:,">'
                        '<link rel="stylesheet" href="/style.css"><p id="words">One small page.</p>'
                        '<script src="http://static.tiny.test/words.js"></script>\n'),
    "http://www.tiny.test/style.css": ("text/css", "p { color: green }\n"),
    "http://static.tiny.test/words.js": ("text/javascript", "document.title = 'tiny, loaded';\n"),
}


def make_tiny(directory: Path, name: str) -> None:
    """Write ``name.pages``, ``name/`` and ``name.fetchlog/`` to `directory`.

    Raises InputError when one of them is there already: it may be a recording.
    """
    files = PageFiles(directory, name)
    places = [files.pages, files.mirror, files.fetchlog]
    for place in places:
        if place.exists():
            raise InputError(f"{place}:1: it is there already; choose another --name or move it away")
    listed, mirror, fetchlog = places
    for url, (_, body) in FILES.items():
        write_file(mirror, url, body.encode())
    fetchlog.mkdir()
    log = PageLog([], [Transaction(0, 1, url) for url in FILES],
                  [Response("OK", mime_type, "utf-8", url, None) for url, (mime_type, _) in FILES.items()], True)
    (fetchlog / sanitise(PAGE)).write_text(format_log(log), encoding="ascii")
    manifest = {"format": MANIFEST_FORMAT, "source": "made",
                "note": "One page that never was, made by scripts/make_tiny.py."}
    (fetchlog / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="ascii")
    listed.write_text(f"{PAGE}\n", encoding="ascii")
    owner = directory.stat()
    for place in places:
        give(place, User("", owner.st_uid, owner.st_gid))


def main() -> int:
    """Make the page and say how to load it. Exit status 2 when something of that name is there."""
    parser = OptionParser(description="Make one small page on two hosts.")
    parser.add_argument("--name", type=page_list_name, default="tiny",
                        help="makes NAME.pages, NAME/ and NAME.fetchlog/ (%(default)s)")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where (default: the project's)")
    options = parser.parse_args()
    make_tiny(options.directory, options.name)
    print(f"made {options.name}: one page on two hosts; load it with: "
          f"sudo ./run.sh --quick --delays 50 --name {options.name}")
    return 0


if __name__ == "__main__":
    run_main(main)
