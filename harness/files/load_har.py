"""The HAR beside a load's log, and its only reader: what the text format cannot hold (headers, sizes, connections)."""

from pathlib import Path
from typing import Any

from harness.files.results import LoadResult
from harness.system.untrusted import UnreadableFileError, read_untrusted_json


def har_file(load: LoadResult) -> Path:
    """Return where the load's HAR lies, if it has one."""
    return load.log.with_name(f"{load.page}.har")


def read_har(load: LoadResult) -> dict[str, Any]:
    """Return the `log` of the load's HAR, whose `entries` are a list of objects. Raises UnreadableFileError."""
    return read_har_log(har_file(load))


def read_har_log(path: Path) -> dict[str, Any]:
    """Return the `log` of a HAR, whose `entries` are a list of objects. Raises UnreadableFileError."""
    found = read_untrusted_json(path)
    log = found.get("log") if isinstance(found, dict) else None
    if not isinstance(log, dict) or not isinstance(log.get("entries"), list):
        raise UnreadableFileError(path, "no HAR: it has no log of entries")
    if not all(isinstance(entry, dict) for entry in log["entries"]):
        raise UnreadableFileError(path, "no HAR: an entry is no object")
    return log
