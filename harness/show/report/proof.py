"""The proof that TFO was off or on: connections, data in their SYNs, the kernel's counters, the servers' answers.

Also what was not counted: loads that are not valid, and requests that failed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from harness.analysis.answers import answer_counts
from harness.analysis.selection import Cell, Selection
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult, Results
from harness.show.labels import TFO_NAMES, share_of
from harness.show.records import entry_url, read_entries
from harness.show.report.tables import UNKNOWN, Table, columns, number, plain_table

Count = Callable[[LoadRecord], int | None]
T = TypeVar("T", int, float)


def _kernel(name: str) -> Count:
    """Return a function that adds up one of the kernel's counters, of user and servers; None if neither has it."""
    def count(record: LoadRecord) -> int | None:
        values = [counters[name] for counters in record.counters.values() if name in counters]
        return sum(values) if values else None
    return count


FROM_RECORD: dict[str, Count] = {
    "Connections": lambda record: record.connections_with_request,
    "Data in SYN": lambda record: record.syn_data_connections,
    "Sent nothing": lambda record: record.silent_connections,
    "SYN retransmitted": _kernel("TCPSynRetrans"),
    "Accept queue overflowed": _kernel("ListenOverflows"),
    "TFO queue overflowed": _kernel("TCPFastOpenListenOverflow"),
    "Timeouts": _kernel("TCPTimeouts"),
    "Dropped": lambda record: record.delay_line_drops,
    "Stand-ins": lambda record: counts.stand_in if (counts := answer_counts(record)) else None,
    "Missing": lambda record: counts.missing if (counts := answer_counts(record)) else None,
}
"""The proof table's columns, and what of a load's record stands in each."""


def proof_table(results: Results, selection: Selection) -> Table:
    """Return one row for each cell, summed over the loads that count. Without records its numbers are UNKNOWN."""
    caption = "Sums over the loads that count, and largest lateness, per page, RTT and TFO"
    heads = columns("RTT and TFO", "Loads that count", "Share with data in SYN", *FROM_RECORD, *LATEST)
    return Table(caption, heads, [
        (url, [row for rtt_ms in results.rtts_ms for tfo in (0, 1)
               if (row := _proof_row(selection, Cell(page, rtt_ms, tfo)))])
        for page, url in results.urls.items()])


def _proof_row(selection: Selection, cell: Cell) -> Sequence[str]:
    records = [load.record for load in selection.cells[cell] if load.record]
    if not records:
        return ()
    sums = {title: _sum(records, count) for title, count in FROM_RECORD.items()}
    carried, in_syn = sums["Connections"], sums["Data in SYN"]
    share = share_of(in_syn / carried, 1) if carried and in_syn is not None else UNKNOWN
    title, loads = f"{selection.rtt_name(cell.rtt_ms)} ms, {TFO_NAMES[cell.tfo]}", len(selection.cells[cell])
    latest = [max(values) if (values := _known(records, value)) else None for value in LATEST.values()]
    return [title, str(loads), share, *map(number, sums.values()), *(number(late_ms, "{:.1f}") for late_ms in latest)]


def _known(records: Sequence[LoadRecord], value: Callable[[LoadRecord], T | None]) -> list[T]:
    return [known for record in records if (known := value(record)) is not None]


def _sum(records: Sequence[LoadRecord], count: Count) -> int | None:
    values = _known(records, count)
    return sum(values) if values else None


def _late_answer_ms(record: LoadRecord) -> float | None:
    """Return by how much the latest answer was late; None if that was not measured."""
    if record.timekeeping is None:
        return None
    return max((answer.late_ms for answer in record.timekeeping.late), default=0.0)


def _delay_line_late_ms(record: LoadRecord) -> float | None:
    return record.timekeeping.delay_line_late_ms if record.timekeeping else None


LATEST: dict[str, Callable[[LoadRecord], float | None]] = {
    "Answer late by at most (ms)": _late_answer_ms,
    "Delay line late by at most (ms)": _delay_line_late_ms,
}
"""More columns: how late anything was at most, in all of the cell's loads that count."""


def invalid_loads_table(results: Results, selection: Selection) -> Table:
    """Return every load that is not valid or could not be used, warm-ups and tries made again too, with its reasons."""
    reasons = {id(load): reason for load, reason in selection.left_out}
    rows = [(load, reasons.get(id(load)) or "; ".join(load.why_not))
            for load in results.loads if id(load) in reasons or not load.valid]
    rows += [(load, f"{'; '.join(load.why_not)} (made again)") for load in results.again]
    return plain_table("Loads that do not count", columns("Page", "RTT (ms)", "Run", words=("TFO", "Reason")), [
        [load.url, selection.rtt_name(load.rtt_ms), _run(load), "on" if load.tfo else "off", reason]
        for load, reason in rows])


def failed_requests_table(results: Results) -> Table:
    """Return which requests failed in which loads: by URL if there is a HAR, else the .json's counts by reason."""
    failed: Counter[tuple[str, float, int, str, str]] = Counter()
    for load in results.loads:
        for url, reason, count in _failures(load):
            failed[load.url, load.rtt_ms, load.tfo, url, reason] += count
    return plain_table(
        "Requests made before the load event that failed, counted over all loads, warm-ups too",
        columns("Page", "RTT (ms)", "Times", words=("TFO", "Reason", "Request")),
        [[page, results.rtt_names.get(rtt_ms, f"{rtt_ms:g}"), str(count), "on" if tfo else "off", reason, url]
         for (page, rtt_ms, tfo, url, reason), count in sorted(failed.items())])


def _failures(load: LoadResult) -> Iterator[tuple[str, str, int]]:
    if load.record is None or not load.record.failed_requests:
        return
    left = Counter(load.record.failed_requests)
    for entry in read_entries(load):
        reason = str(entry.get("_error") or "")
        if left[reason] > 0:
            left[reason] -= 1
            yield entry_url(entry), reason, 1
    for reason, count in sorted((+left).items()):
        yield UNKNOWN, reason, count


def _run(load: LoadResult) -> str:
    return "0 (warm-up)" if load.run == 0 else str(load.run)
