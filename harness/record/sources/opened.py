"""Which kind of source a file or directory is."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InputError
from harness.files.foreign_har import has_bodies, read_foreign_har, read_websockets_of_loads
from harness.record.sources.har import index_har, urls_asked_for
from harness.record.sources.source import IndexedSource, Source
from harness.record.sources.wacz import read_wacz
from harness.record.sources.warc import read_warcs
from harness.system.memory import bounded_memory

WARCS = (".warc", ".warc.gz", ".arc", ".arc.gz")
HARS = (".har", ".har.gz", ".har.json", ".harp", ".zip")
KINDS = "a .har (or .zip with one), .warc, .warc.gz or .wacz file"


def is_figures_only(path: Path) -> bool:
    """Say whether a source is a HAR without bodies. Raises InputError when it is a HAR that cannot be read."""
    if not path.name.lower().endswith(HARS) or not path.is_file():
        return False
    with bounded_memory(path):
        return not has_bodies(read_foreign_har(path))


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Give the source at `path` while the context lasts. Raises InputError when it is none."""
    with tempfile.TemporaryDirectory(prefix="tfo-source-") as work_dir:
        with bounded_memory(path):
            source = _read(path, Path(work_dir))
        yield source


def _read(path: Path, work_dir: Path) -> Source:
    name = path.name.lower()
    if not path.is_file():
        raise InputError(f"{path}:1: no such file; give {KINDS}")
    if name.endswith(HARS):
        entries = read_foreign_har(path)
        return IndexedSource(path.name, *index_har(entries, read_websockets_of_loads(path)), urls_asked_for(entries))
    if name.endswith(WARCS):
        return IndexedSource(path.name, read_warcs([path], path, work_dir))
    if name.endswith(".wacz"):
        return IndexedSource(path.name, *read_wacz(path, work_dir))
    raise InputError(f"{path}:1: a source of an unknown kind; give {KINDS}")
