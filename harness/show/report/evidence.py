"""What the numbers of the report stand on: the proof that TFO was off or on, what was left out, where it was measured.

The proof: connections, data in their SYNs, the kernel's counters.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from harness.analysis.compare import NOT_SHOWN, settings
from harness.analysis.doubts import received
from harness.analysis.row import Cell, Row
from harness.analysis.selection import Selection
from harness.errors import first_few
from harness.files.load_parts import WHOLE_RATIO
from harness.files.load_record import LoadRecord
from harness.files.results import Results
from harness.show.labels import NOT_KNOWN, span
from harness.show.section import Section, Table, plain_table

SUMS = {"Connections": "connections_with_request", "Data in SYN": "syn_data_connections",
        "Sent nothing": "silent_connections", "SYN retransmitted": "TCPSynRetrans",
        "Accept queue overflowed": "ListenOverflows", "TFO queue overflowed": "TCPFastOpenListenOverflow",
        "Timeouts": "TCPTimeouts", "Dropped": "delay_line_drops"}
"""The proof table's columns, and what is summed in each: numbers of a load's record, or the kernel's counters in it."""
PROOF = (
    "Without TFO no SYN may carry data; with TFO and warm cookies every connection that carried a request sent it in "
    "its SYN. The servers saw the connections (TCP_INFO); retransmissions, overflows and timeouts are counters of the "
    "kernel (/proc/net/netstat), summed over the browser's host and the servers.",
    "“Sent nothing”: connections Chrome opened and never used. “Dropped”: packets the delay line lost.")
UNPROVEN = "These loads have no record beside their logs: nothing proves whether TFO was off or on, nor which " \
           "requests failed."
ANSWERS = {"Exact": "exact", "Stand-in": "stand_in", "Missing": "missing", "Failed": "failed",
           "Failed as recorded": "failed_as_recorded"}
"""Columns, and which counts of a load's ReceivedAnswers stand in them."""
OF_NAMES = "Settings have the names of experiment-<delaynet>.json; ./tfo.py --help says what each option does."
LATEST_S = datetime(9999, 1, 1, tzinfo=timezone.utc).timestamp()


def proof_section(selection: Selection) -> Section:
    """Return a table with a row for each cell, summed over its loads that count."""
    groups = [(selection.results.urls[page], [line for row in selection.of_page(page) for cell in row.cells
                                              if (line := _proof_line(cell))]) for page in selection.results.urls]
    table = Table("Sums over the loads that count, per page, RTT and TFO",
                  ["RTT and TFO", "Loads that count", *SUMS], groups, style="wide")
    return Section("Proof of TFO", [UNPROVEN] if table.empty else PROOF, [table])


def _proof_line(cell: Cell) -> list[str]:
    records = [load.record for load in cell.loads if load.record]
    if not records:
        return []
    known = {title: [value for record in records for value in _numbers(record, name) if value is not None]
             for title, name in SUMS.items()}
    return [cell.title, str(len(cell.loads)),
            *(f"{sum(values):,.0f}" if values else NOT_KNOWN for values in known.values())]


def _numbers(record: LoadRecord, name: str) -> list[int | None]:
    """Return one of SUMS, of user and servers where it is a counter of the kernel's."""
    return [getattr(record, name)] if hasattr(record, name) else [
        counters.get(name) for counters in record.counters.values()]


def left_out_section(selection: Selection) -> Section:
    """Return all loads that do not count, and why: warm-ups, tries made again and other experiments' too."""
    results, reasons = selection.results, {id(load): reason for load, reason in selection.left_out}
    rows = [(load, reasons.get(id(load)) or "; ".join(load.why_not))
            for load in results.loads if id(load) in reasons or not load.valid]
    rows += [(load, f"{'; '.join(load.why_not)} (made again)") for load in results.again]
    rows += [(load, "; ".join(load.why_not)) for load in results.others]
    table = plain_table("Loads that do not count", ["Page", "RTT (ms)", "Run", "TFO", "Reason"], [
        [load.url, results.rtt_names.get(load.rtt_ms, f"{load.rtt_ms:g}"),
         str(load.run) if load.run else "0 (warm-up)", "on" if load.tfo else "off", reason]
        for load, reason in rows], "words")
    return Section("Left out", [] if rows else ["Every load is valid."], [table])


def answers_table(selection: Selection) -> Table:
    """Return a row for each page of which a load got something else than what was recorded for it, or less.

    Counts are of a load's requests, from the load with fewest to that with most. What was received is the least that a
    load got of the recording's answers and bytes: where another browser made it, loads may ask for less.
    """
    rows = [row for page in selection.results.urls if (row := _answers_row(selection.of_page(page)))]
    head = ["Page", *ANSWERS, "Received of the recording", "On a critical path, not as recorded"]
    return plain_table("Answers that were not recorded for their request: requests of a load", head, rows, "words")


def _answers_row(rows: Sequence[Row]) -> list[str]:
    """Return one page's row; [] where all was as recorded."""
    loads = [load for row in rows for load in row.loads if received(load)]
    answers = [load.record.answers for load in loads if load.record and load.record.answers]
    critical = dict.fromkeys(url for row in rows for urls in row.doubtful.values() for url in urls)
    least = min((each.coverage for each in answers if each.coverage), key=lambda cover: cover.share, default=None)
    is_whole = least is None or least.share >= WHOLE_RATIO
    counts = {name: [getattr(each, name) for each in answers] for name in ANSWERS.values()}
    if is_whole and not critical and not any(any(counts[name]) for name in counts if name != "exact"):
        return []
    share = NOT_KNOWN if is_whole or least is None else f"{least.got} of {least.recorded} answers, " \
        f"{least.got_bytes / 1000:,.0f} of {least.recorded_bytes / 1000:,.0f} kB"
    return [rows[0].url, *(span(min(known), max(known)) if known else NOT_KNOWN for known in counts.values()), share,
            first_few([*critical]) or NOT_KNOWN]


def environment_section(results: Results) -> Section:
    """Return a row for each setting. Of logs of 2013 nothing is known."""
    rows = [[name, _per_rtt(values, results.rtts_ms)] for name, values in settings(results, NOT_SHOWN).items()]
    commands = (load.record.environment.argv for load in results.loads if load.record and load.record.environment)
    if command := next(filter(None, commands), None):       # profile and log have other names in every load
        rows.append(["Chrome's command line, of the first load", "\n".join(command)])
    words = [OF_NAMES if rows else "Nothing is recorded of where and how these loads were measured."]
    return Section("Environment", words, [
        plain_table("Settings and machine", ["Setting", "Value"], rows, "words")] if rows else [])


def _per_rtt(values: Mapping[str, Sequence[float]], rtts_ms: Sequence[float]) -> str:
    """Return the one value of all RTTs; else a line for each, with the RTTs that were measured so."""
    if [len(of_value) for of_value in values.values()] == [len(rtts_ms)]:
        return next(iter(values))
    return "\n".join(f"RTT {', '.join(f'{rtt_ms:g}' for rtt_ms in of_value)} ms: {value}"
                     for value, of_value in values.items())


def when_measured(results: Results) -> Iterator[str]:
    """Give from the first load's start to the last one's, UTC; nothing where that is not known."""
    times_s = [load.record.began_s for load in results.loads if load.record and load.record.began_s]
    times_s = [time_s for time_s in times_s if 0 < time_s < LATEST_S]
    if times_s:
        first, last = (datetime.fromtimestamp(when_s, timezone.utc) for when_s in (min(times_s), max(times_s)))
        yield f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
