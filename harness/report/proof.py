"""What proves that TFO was off or on: connections, data in their SYNs, the kernel's counters, the servers' answers.

And what was not counted: loads that are not valid, and requests that failed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from harness.figures import NAMES
from harness.report.records import dictionary, entry_url, read_entries, read_record
from harness.report.tables import UNKNOWN, Table, columns, number, plain_table
from harness.results import LoadResult, Results
from harness.selection import Cell, Selection

FROM_RECORD = {
    "Connections": ("connections_with_request",),
    "Data in SYN": ("syn_data_connections",),
    "Sent nothing": ("silent_connections",),
    "SYN retransmitted": ("counters", "*", "TCPSynRetrans"),
    "Accept queue overflowed": ("counters", "*", "ListenOverflows"),
    "TFO queue overflowed": ("counters", "*", "TCPFastOpenListenOverflow"),
    "Timeouts": ("counters", "*", "TCPTimeouts"),
    "Dropped": ("delay_line_drops",),
    "Best match": ("best_match",),
    "Missing": ("missing",),
}
"""The proof table's columns, and where a load's .json holds each; "*" is every side: user and servers."""


def proof_table(results: Results, selection: Selection) -> Table:
    """Return one row for each cell, summed over the loads that count. A cell without a record is UNKNOWN."""
    caption = "Sums over the loads that count, per page, RTT and TFO"
    heads = columns("RTT and TFO", "Loads that count", "Share with data in SYN", *FROM_RECORD)
    return Table(caption, heads, [
        (url, [row for rtt_ms in results.rtts_ms for tfo in (0, 1)
               if (row := _proof_row(selection, Cell(page, rtt_ms, tfo)))])
        for page, url in results.urls.items()])


def _proof_row(selection: Selection, cell: Cell) -> Sequence[str]:
    records = [record for load in selection.cells[cell] if (record := read_record(load))]
    if not records:
        return ()
    sums = {title: _sum(records, path) for title, path in FROM_RECORD.items()}
    carried, in_syn = sums["Connections"], sums["Data in SYN"]
    share = f"{in_syn / carried:.1%}" if carried and in_syn is not None else UNKNOWN
    title, loads = f"{cell.rtt_ms:g} ms, {NAMES[cell.tfo]}", len(selection.cells[cell])
    return [title, str(loads), share, *map(number, sums.values())]


def _sum(records: Sequence[dict[str, Any]], path: Sequence[str]) -> int | None:
    values = [value for record in records for value in _find(record, path)]
    return sum(values) if values else None


def _find(value: object, path: Sequence[str]) -> Iterator[int]:
    """Yield the whole numbers at `path`."""
    if not path:
        if isinstance(value, int):
            yield value
    elif isinstance(value, dict):
        for part in value.values() if path[0] == "*" else [value.get(path[0])]:
            yield from _find(part, path[1:])


def invalid_loads_table(results: Results, selection: Selection) -> Table:
    """Return every load that is not valid or could not be used, warm-ups too, with its reasons."""
    reasons = {id(load): reason for load, reason in selection.left_out}
    rows = [(load, reasons.get(id(load)) or "; ".join(load.why_not))
            for load in results.loads if id(load) in reasons or not load.valid]
    return plain_table("Loads that do not count", columns("Page", "RTT (ms)", "Run", words=("TFO", "Reason")), [
        [load.url, f"{load.rtt_ms:g}", _run(load), "on" if load.tfo else "off", reason] for load, reason in rows])


def failed_requests_table(results: Results) -> Table:
    """Return what requests failed in which loads: from the HAR by URL, else as the .json counts them by reason."""
    failed: Counter[tuple[str, float, int, str, str]] = Counter()
    for load in results.loads:
        for url, reason, count in _failures(load):
            failed[load.url, load.rtt_ms, load.tfo, url, reason] += count
    return plain_table(
        "Requests that failed, counted over all loads, warm-ups too",
        columns("Page", "RTT (ms)", "Times", words=("TFO", "Reason", "Request")),
        [[page, f"{rtt_ms:g}", str(count), "on" if tfo else "off", reason, url]
         for (page, rtt_ms, tfo, url, reason), count in sorted(failed.items())])


def _failures(load: LoadResult) -> Iterator[tuple[str, str, int]]:
    counted = dictionary(read_record(load).get("failed_requests"))
    if not counted:
        return
    left = Counter({str(reason): count for reason, count in counted.items() if isinstance(count, int)})
    for entry in read_entries(load):
        reason = str(entry.get("_error") or "")
        if left[reason] > 0:
            left[reason] -= 1
            yield entry_url(entry), reason, 1
    for reason, count in sorted((+left).items()):
        yield UNKNOWN, reason, count


def _run(load: LoadResult) -> str:
    return "0 (warm-up)" if load.run == 0 else str(load.run)
