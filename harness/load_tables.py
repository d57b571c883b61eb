"""All page loads as one tidy table, one row per load, failures included: ``loads.csv`` and ``loads.jsonl``.

Both hold the same rows under the same names (docs/results.md describes each column) and are made from the records
beside the logs, so that they can be made again at any time: ``.venv/bin/python -m harness.load_tables client``.
"""

import argparse
import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.atomic import write_atomically
from harness.errors import InputError, run_main
from harness.fastopen import COUNTERS
from harness.results import LoadResult, read_record, read_results

FORMAT = 1
"""Version of the table, in every line of loads.jsonl. Columns may be added within a version, at the end of a line."""

SIDES = ("user", "servers")
"""Whose kernel counters a record holds: the browser's host, and all servers together."""

Row = dict[str, Any]


def write_load_tables(client_dir: Path) -> list[Path]:
    """Write ``loads.csv`` and ``loads.jsonl`` into `client_dir`, each in one step; return their paths.

    Raises InputError when there is no load there, a file is of a newer format, or the folder cannot be written.
    """
    rows = list(load_rows(client_dir))
    contents = {client_dir / "loads.csv": format_csv(rows), client_dir / "loads.jsonl": format_jsonl(rows)}
    try:
        for path, content in contents.items():
            write_atomically(path, content)
    except OSError as error:
        raise InputError(f"{client_dir}:1: no table can be written there ({error.strerror}); is it yours?") from None
    return list(contents)


def load_rows(client_dir: Path) -> Iterator[Row]:
    """Give a row for every page load in `client_dir`, warm-ups and failures too, in order of delay, run, TFO and page.

    A value that is not known is None: of a load without a readable record that is nearly all but its place and the
    reason. Raises InputError as harness.results.read_results does.
    """
    results = read_results(client_dir)
    for load in results.loads:
        yield {**_row(load, _record(load)), "url": results.urls[load.page]}


def format_csv(rows: list[Row]) -> str:
    """Return `rows` as comma-separated values: RFC 4180, lines ending in CR LF, unknown values empty.

    The reasons in `why_not` are joined by "; ", and `failed_by_reason` is the JSON it is in the other file.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row[name]) for name in COLUMNS] for row in rows)
    return _encodable(text.getvalue())


def format_jsonl(rows: list[Row]) -> str:
    """Return `rows` as JSON, a line each, the format version first."""
    return "".join(json.dumps({"format": FORMAT, **row}, allow_nan=False) + "\n" for row in rows)


def _record(load: LoadResult) -> Mapping[str, Any]:
    try:
        return read_record(load.log.with_name(f"{load.page}.json"))
    except (OSError, ValueError):
        return {}       # a log of 2013, or a load that was cut short: why_not says it


def _row(load: LoadResult, record: Mapping[str, Any]) -> Row:
    failed = _counts(record.get("failed_requests"))
    connections = _requests_per_connection(record.get("connections"))
    counters = record.get("counters")
    of_side = {side: counters.get(side) if isinstance(counters, dict) else None for side in SIDES}
    return {
        "page": load.page, "url": load.url, "delaynet_ms": load.delaynet_ms, "rtt_ms": load.rtt_ms, "tfo": load.tfo,
        "run": load.run, "valid": load.valid,
        "plt_ms": load.plt_ms, "last_ms": load.last_ms, "first_byte_ms": _number(record, "first_byte_ms"),
        "requests": _number(record, "requests"), "bytes": _number(record, "bytes"),
        "failed_requests": None if failed is None else sum(failed.values()), "failed_by_reason": failed,
        "connections": None if connections is None else len(connections),
        "reused_connections": None if connections is None else sum(requests > 1 for requests in connections),
        **{name: _number(record, name) for name in (
            "connections_with_request", "syn_data_connections", "preconnects_unused", "silent_connections",
            "best_match", "missing", "delay_line_drops")},
        **{f"{side}_{name}": _number(of_side[side], name) for side in SIDES for name in COUNTERS},
        "why_not": list(load.why_not),
    }


def _number(record: object, key: str) -> float | None:
    """Return a number of a record; None when it is not there, or is none: someone may have edited the file."""
    value = record.get(key) if isinstance(record, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def _counts(found: object) -> dict[str, int] | None:
    """Return how many requests failed for each of Chrome's reasons."""
    if not isinstance(found, dict) or not all(isinstance(count, int) for count in found.values()):
        return None
    return found


def _requests_per_connection(found: object) -> list[float] | None:
    if not isinstance(found, list):
        return None
    return [_number(connection, "requests") or 0 for connection in found]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(value)
    return json.dumps(value) if isinstance(value, dict) else value


def _encodable(text: str) -> str:
    """A file name that is no UTF-8 reaches Python as lone surrogates, which no UTF-8 file can hold; escape those."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


COLUMNS = tuple(_row(LoadResult("", "", 0, 0, 0, 0, False, (), None, None, Path()), {}))


def main() -> int:
    """Write both files of a client folder and name them."""
    parser = argparse.ArgumentParser(description="Write loads.csv and loads.jsonl into a folder of client logs.")
    parser.add_argument("client_dir", type=Path)
    for path in write_load_tables(parser.parse_args().client_dir):
        print(path)
    return 0


if __name__ == "__main__":
    run_main(main)
