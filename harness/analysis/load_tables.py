"""All page loads as one tidy table, one row per load, failures included: ``loads.csv`` and ``loads.jsonl``.

Both hold the same rows under the same names (docs/results.md describes each column) and are made from the records
beside the logs.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult, has_loads, read_results
from harness.files.table_files import Row, write_table
from harness.system.fastopen import COUNTERS

NAMES = ("loads.csv", "loads.jsonl")

SIDES = ("user", "servers")
"""Whose kernel counters a record holds: the browser's host, and all servers together."""

ANSWERS = ("exact", "stand_in", "missing", "failed")
"""How requests were answered (harness.files.load_parts.ReceivedAnswers)."""


def write_load_tables(client_dir: Path) -> list[Path]:
    """Write ``loads.csv`` and ``loads.jsonl`` into `client_dir`, each in one step; return their paths.

    Raises InputError when there is no load there, a file is of a newer format, or the folder cannot be written.
    """
    rows, paths = [*load_rows(client_dir)], [client_dir / name for name in NAMES]
    try:
        for path in paths:
            write_table(path, rows)
    except OSError as error:
        raise InputError(f"{client_dir}:1: no table can be written there ({error.strerror}); is it yours?") from None
    return paths


def refresh_load_tables(client_dir: Path) -> None:
    """Make the tables of `client_dir` anew, after loads were moved away from it or to it; none where no load is.

    Raises InputError as `write_load_tables`.
    """
    if has_loads(client_dir):
        write_load_tables(client_dir)
        return
    for name in NAMES:
        (client_dir / name).unlink(missing_ok=True)


def load_rows(client_dir: Path) -> Iterator[Row]:
    """Give a row for every page load in `client_dir`, warm-ups and failures too, in order of delay, run, TFO and page.

    A value that is not known is None: of a load without a readable record that is nearly all but its place and the
    reason. Raises InputError as harness.files.results.read_results does.
    """
    results = read_results(client_dir)
    for load in sorted(results.everything, key=_place):
        yield {**_row(load), "url": results.urls.get(load.page, load.url)}


def _place(load: LoadResult) -> tuple[float, int, int, str, int]:
    return load.delaynet_ms, load.run, load.tfo, load.page, load.record.attempt if load.record else 1


def _row(load: LoadResult) -> Row:
    """Return what is known of one load; without a record (of 2013, or cut short) that is little, as why_not says."""
    record = load.record or LoadRecord(load.url, load.page, 0, 0, 0, 0)
    failed, connections = record.failed_requests, record.connections
    return {
        **_of(load, "page", "url", "delaynet_ms", "rtt_ms", "tfo", "run", "valid", "plt_ms", "last_ms"),
        **_of(record, "first_byte_ms", "requests", "bytes"),
        "failed_requests": None if failed is None else sum(failed.values()), "failed_by_reason": failed,
        "connections": None if connections is None else len(connections),
        "reused_connections": None if connections is None else sum(
            connection.requests > 1 for connection in connections),
        **_of(record, "connections_with_request", "syn_data_connections", "preconnects_unused", "silent_connections",
              "delay_line_drops"),
        **{f"{side}_{name}": record.counters.get(side, {}).get(name) for side in SIDES for name in COUNTERS},
        "why_not": list(load.why_not), "attempt": record.attempt if load.record else None,
        "experiment": record.experiment,
        **{f"{name}_answers": getattr(record.answers, name, None) for name in ANSWERS},
        "late_ms": _late_ms(record), **_of(record, "fcp_ms", "lcp_ms")}


def _of(what: object, *names: str) -> Row:
    return {name: getattr(what, name) for name in names}


def _late_ms(record: LoadRecord) -> float | None:
    """Return by how much the latest answer on the load's critical path was late, 0 when none was."""
    if record.timekeeping is None:
        return None
    return max((answer.late_ms for answer in record.timekeeping.late if answer.critical), default=0.0)


COLUMNS = tuple(_row(LoadResult("", "", 0, 0, 0, 0, Path())))
