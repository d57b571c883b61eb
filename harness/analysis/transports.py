"""What each Transport saves of the page load time against TCP: rows whose second cell is over that transport."""

from dataclasses import replace

from harness.analysis.explanation import predicted_over
from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.analysis.stats import median_if_any
from harness.files.load_parts import EarlyCounts
from harness.files.results import Results
from harness.files.transport import Transport

COUNTED = ("possible", "resumed", "sent", "in_syn", "accepted", "too_late")
QUIC_CONNECTION_MS, QUIC_MB_MS = 6.0, 48.0
"""What the servers, which are in Python, work for a connection over QUIC and for a MB of answers, in ms of a processor:
docs/data/server-speed.tsv. Over HTTP/2 they work 2 ms for either."""


def is_compared(results: Results) -> bool:
    """Tell whether transports were measured beside each other, each load after another visit of its page."""
    return any(experiment.warm_pairs for experiment in results.experiments)


def transport_rows(selection: Selection) -> list[Row]:
    """Return a row for each page at each RTT and each transport, in this order; `on` is the cell over that transport.

    `off` is the cell over the first transport measured, which the others are held against; in its own row `off` is
    empty, so that nothing is saved there.
    """
    first = selection.results.transports[0]
    return [replace(row, off=row.over(first) if each != first else replace(row.over(first), loads=()),
                    on=row.over(each), others=())
            for row in selection.rows for each in selection.results.transports]


def early_counts(row: Row) -> EarlyCounts:
    """Return the sums over the loads of a row's second cell; all 0 where nothing is known of early data."""
    counts = [load.record.early_data for load in row.on.loads if load.record and load.record.early_data]
    return EarlyCounts(**{name: sum(getattr(each, name) for each in counts) for name in COUNTED})


def predicted_ms(row: Row) -> float | None:
    """Return what the loads of a row's first cell would have taken over the transport of the second, in ms (median).

    None where that is not known: only loads over TCP can be played again.
    """
    if row.off.transport != Transport.TCP:
        return None
    over = Transport(row.on.transport)
    return median_if_any([plt_ms for load in row.off.loads
                          if (plt_ms := predicted_over(load, row.rtt_ms, over)) is not None])


def most_work_ms(row: Row) -> float:
    """Return for how long loads over QUIC, in a row's second cell, can have waited for their servers; else 0.

    At most: servers work beside each other, and while others' answers are on their way.
    """
    records = [load.record for load in row.on.loads if load.record and Transport(row.on.transport).quic]
    return median_if_any([QUIC_CONNECTION_MS * len(record.connections or ()) + QUIC_MB_MS * (record.bytes or 0) / 1e6
                          for record in records]) or 0.0
