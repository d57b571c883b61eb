"""Reads the HAR beside a log: what the text format cannot hold (headers, sizes, connections)."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from harness.files.exchange import Exchange
from harness.files.har import NO_ENTRY, from_har, page_times
from harness.files.results import LoadResult
from harness.system.untrusted import UnreadableFileError, read_untrusted_json


class LoadLog(msgspec.Struct, frozen=True):
    """What a load's HAR says: when the load began, and its exchanges, each with `started`, in their order."""

    began: datetime
    exchanges: tuple[Exchange, ...]


def har_file(load: LoadResult) -> Path:
    """Return where the load's HAR lies, if it has one."""
    return load.log.with_name(f"{load.page}.har")


def read_har(path: Path) -> LoadLog:
    """Return what the HAR of a load says. Raises UnreadableFileError."""
    try:
        return load_log(read_har_log(path))
    except NO_ENTRY as error:
        raise UnreadableFileError(path, f"no HAR of a load ({type(error).__name__}: {error})") from None


def read_har_log(path: Path) -> dict[str, Any]:
    """Return the `log` of a HAR, which has a list of `entries`. Raises UnreadableFileError."""
    found = read_untrusted_json(path)
    log = found.get("log") if isinstance(found, dict) else None
    if not isinstance(log, dict) or not isinstance(log.get("entries"), list):
        raise UnreadableFileError(path, "no HAR: it has no log of entries")
    return log


def load_log(log: Mapping[str, Any]) -> LoadLog:
    """Return what the `log` of a load's HAR says. Raises NO_ENTRY for what is none."""
    began, exchanges = page_times(log).started, tuple(map(from_har, log["entries"]))
    if began is None or any(exchange.started is None for exchange in exchanges):
        raise ValueError("it does not say when it began, or what it asked for")
    return LoadLog(began, exchanges)
