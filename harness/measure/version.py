"""Which program measures: a digest of those of its parts that decide how a load comes about."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from harness.bootstrap import ROOT
from harness.mirror.paths import list_files

MEASURING = ("tfo.py", "tfo-test", "harness/analysis", "harness/browser", "harness/files", "harness/measure",
             "harness/mirror", "harness/netlog", "harness/network", "harness/replay", "harness/system")
"""What decides how a load comes about; figures and reports do not."""


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Return the digest in hexadecimal; two programs that measure in the same way have the same."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for name in MEASURING:
        place = ROOT / name
        files = sorted(place / file for file in list_files(place)) if place.is_dir() else [place]
        yield from (path for path in files if path.suffix in (".py", ".js", ".c"))
