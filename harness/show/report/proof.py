"""The proof that TFO was off or on: connections, data in their SYNs, the kernel's counters, the servers' answers.

Also what was not counted: loads that are not valid, and requests that failed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from harness.analysis.cell import Cell
from harness.analysis.selection import Selection
from harness.errors import first_few
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult
from harness.show.labels import NOT_KNOWN, share_of
from harness.show.section import Section, Table, columns, plain_table

Count = Callable[[LoadRecord], float | None]


def _kernel(name: str) -> Count:
    """Return a function that adds up one of the kernel's counters, of user and servers; None if neither has it."""
    def count(record: LoadRecord) -> int | None:
        values = [counters[name] for counters in record.counters.values() if name in counters]
        return sum(values) if values else None
    return count


SUMS: dict[str, Count] = {
    "Connections": lambda record: record.connections_with_request,
    "Data in SYN": lambda record: record.syn_data_connections,
    "Sent nothing": lambda record: record.silent_connections,
    "SYN retransmitted": _kernel("TCPSynRetrans"),
    "Accept queue overflowed": _kernel("ListenOverflows"),
    "TFO queue overflowed": _kernel("TCPFastOpenListenOverflow"),
    "Timeouts": _kernel("TCPTimeouts"),
    "Dropped": lambda record: record.delay_line_drops,
    "Stand-ins": lambda record: record.answers.stand_in if record.answers else None,
    "Missing": lambda record: record.answers.missing if record.answers else None,
}
"""The proof table's columns, and what of a load's record is summed in each."""
LARGEST: dict[str, Count] = {
    "Answer late by at most (ms)": lambda record: max(
        (answer.late_ms for answer in record.timekeeping.late), default=0.0) if record.timekeeping else None,
    "Delay line late by at most (ms)": lambda record:
        record.timekeeping.delay_line_late_ms if record.timekeeping else None,
}
"""More columns: how late anything was at most, in all of the cell's loads that count."""
PROOF = (
    "Without TFO no SYN may carry data; with TFO and warm cookies every connection that carried a request sent it in "
    "its SYN. The servers saw the connections (TCP_INFO); retransmissions, overflows and timeouts are counters of the "
    "kernel (/proc/net/netstat), summed over the browser's host and the servers.",
    "“Sent nothing”: connections Chrome opened and never used. “Stand-ins”: requests answered with what was recorded "
    "for another request; “missing”: with 404, because nothing was. “Dropped”: packets the delay line lost. “Late”: "
    "how much longer than the network and the server needed an answer took, and a packet stayed in the delay line.")
UNPROVEN = "These loads have no record beside their logs: nothing proves whether TFO was off or on, nor which " \
           "requests failed."


def proof_section(selection: Selection) -> Section:
    """Return a table with a row for each cell, summed over its loads that count."""
    groups = [(selection.results.urls[page], [line for row in selection.of_page(page) for cell in row.cells
                                              if (line := _proof_line(cell))]) for page in selection.results.urls]
    table = Table("Sums over the loads that count, and largest lateness, per page, RTT and TFO",
                  columns("RTT and TFO", "Loads that count", "Share with data in SYN", *SUMS, *LARGEST), groups,
                  style="wide")
    return Section("Proof of TFO", [UNPROVEN] if table.empty else PROOF, [table])


def _proof_line(cell: Cell) -> list[str]:
    records = [load.record for load in cell.loads if load.record]
    if not records:
        return []

    def text(count: Count, of_all: Callable[[list[float]], float], form: str) -> str:
        values = [value for record in records if (value := count(record)) is not None]
        return form.format(of_all(values)) if values else NOT_KNOWN

    carried, in_syn = (sum(count(record) or 0 for record in records) for count in (SUMS["Connections"],
                                                                                   SUMS["Data in SYN"]))
    return [cell.title, str(len(cell.loads)), share_of(in_syn / carried, 1) if carried else NOT_KNOWN,
            *(text(count, sum, "{:,.0f}") for count in SUMS.values()),
            *(text(count, max, "{:.1f}") for count in LARGEST.values())]


def left_out_section(selection: Selection) -> Section:
    """Return what does not count, and why: loads, tries, requests that failed."""
    parts = [table for table in (_loads_left_out(selection), _failed_requests(selection)) if not table.empty]
    return Section("Left out and failed", [] if parts else ["Every load is valid, and no request failed."], parts)


def _loads_left_out(selection: Selection) -> Table:
    """Return all loads that do not count, warm-ups, tries made again and other experiments' too, with their reasons."""
    results, reasons = selection.results, {id(load): reason for load, reason in selection.left_out}
    rows = [(load, reasons.get(id(load)) or "; ".join(load.why_not))
            for load in results.loads if id(load) in reasons or not load.valid]
    rows += [(load, f"{'; '.join(load.why_not)} (made again)") for load in results.again]
    rows += [(load, "; ".join(load.why_not)) for load in results.others]
    return plain_table("Loads that do not count", columns("Page", "RTT (ms)", "Run", words=("TFO", "Reason")), [
        [load.url, results.rtt_names.get(load.rtt_ms, f"{load.rtt_ms:g}"),
         str(load.run) if load.run else "0 (warm-up)", "on" if load.tfo else "off", reason]
        for load, reason in rows], "words")


def _failed_requests(selection: Selection) -> Table:
    """Return by page, RTT and reason how many requests failed, and of which URLs, as far as the records tell."""
    counts: Counter[tuple[str, float, int, str]] = Counter()
    urls: dict[tuple[str, float, int, str], dict[str, None]] = defaultdict(dict)
    for load in selection.results.loads:
        for reason, count in (load.record.failed_requests or {} if load.record else {}).items():
            key = load.url, load.rtt_ms, load.tfo, reason
            counts[key] += count
            urls[key] |= dict.fromkeys(_failed_urls(load, reason))
    names = selection.results.rtt_names
    return plain_table(
        "Requests made before the load event that failed, counted over all loads, warm-ups too",
        columns("Page", "RTT (ms)", "Times", words=("TFO", "Reason", "Requests")),
        [[page, names.get(rtt_ms, f"{rtt_ms:g}"), str(count), "on" if tfo else "off", reason,
          first_few([*urls[page, rtt_ms, tfo, reason]]) or NOT_KNOWN]
         for (page, rtt_ms, tfo, reason), count in sorted(counts.items())], "words")


def _failed_urls(load: LoadResult, reason: str) -> Iterator[str]:
    for answer in load.record.answers.each if load.record and load.record.answers else ():
        if answer.error == reason and not answer.late:
            yield answer.url
