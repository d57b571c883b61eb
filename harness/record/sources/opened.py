"""Which kind of source a file or directory is."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InputError
from harness.files.foreign_har import has_bodies, read_foreign_har
from harness.record.sources.har import index_har
from harness.record.sources.mahimahi import read_mahimahi
from harness.record.sources.source import IndexedSource, Source
from harness.record.sources.wacz import read_wacz
from harness.record.sources.warc import read_warcs

WARCS = (".warc", ".warc.gz", ".arc", ".arc.gz")
HARS = (".har", ".har.gz", ".har.json")
KINDS = "a .har, .warc, .warc.gz or .wacz file, or the directory of a mahimahi recording"


def is_figures_only(path: Path) -> bool:
    """Say whether a source is a HAR without bodies. Raises InputError when it is a HAR that cannot be read."""
    return path.name.lower().endswith(HARS) and path.is_file() and not has_bodies(read_foreign_har(path))


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Give the source at `path` while the context lasts. Raises InputError when it is none."""
    name = path.name.lower()
    if path.is_dir():
        yield IndexedSource(path.name, read_mahimahi(path))
    elif not path.is_file():
        raise InputError(f"{path}:1: no such file or directory; give {KINDS}")
    elif name.endswith(HARS):
        yield IndexedSource(path.name, *index_har(read_foreign_har(path)))
    elif name.endswith(WARCS):
        yield IndexedSource(path.name, read_warcs([path]))
    elif name.endswith(".wacz"):
        with tempfile.TemporaryDirectory(prefix="tfo-wacz-") as work_dir:
            yield IndexedSource(path.name, *read_wacz(path, Path(work_dir)))
    else:
        raise InputError(f"{path}:1: a source of an unknown kind; give {KINDS}")
