"""Page loads as HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which developer tools open.

What an entry has is written in harness.files.har. Chrome logs no cookie values and no bodies: `cookies` are empty, and
there is no `text`.
"""

from collections.abc import Mapping
from typing import Any

from harness.files.exchange import UNFINISHED, UNKNOWN, Exchange
from harness.files.har import CREATOR, date_of, entry_of, exchange_of, moment_at
from harness.netlog.load import Connection, HttpTransaction, NetLog, cut_off, of_load
from harness.system.tcp import without_port


def har(netlog: NetLog, url: str, start_tick: float, *, end_tick: float | None = None,
        on_content_load_ms: float | None = None, on_load_ms: float | None = None,
        clock_shift_ms: float = 0.0, comment: str = "") -> dict[str, Any]:
    """Return the load of `url` that began at `start_tick` as a HAR 1.2 object, ready for json.dump.

    `end_tick` as in harness.netlog.load.page_log. `on_content_load_ms` and `on_load_ms` count from the start of the
    load. `clock_shift_ms` is what Chrome's wall clock was ahead of the true one; dates in the HAR are true ones.
    """
    page: dict[str, Any] = {
        "startedDateTime": date_of(netlog.unix_ms(start_tick) - clock_shift_ms), "id": "page_1", "title": url,
        "pageTimings": {"onContentLoad": _or_unknown(on_content_load_ms), "onLoad": _or_unknown(on_load_ms)}}
    connections = {connection.id: connection for connection in netlog.connections}
    entries = [entry_of(transaction, exchange_in(netlog, transaction, connections, end_tick, clock_shift_ms))
               for transaction in of_load(netlog, start_tick, end_tick)]
    log: dict[str, Any] = {"version": "1.2", "creator": CREATOR,
                           "browser": {"name": "Chromium", "version": netlog.browser_version},
                           "pages": [page], "entries": entries}
    if comment:
        log["comment"] = comment
    return {"log": log}


def exchange_in(netlog: NetLog, transaction: HttpTransaction, connections: Mapping[int, Connection],
                end_tick: float | None, clock_shift_ms: float = 0.0) -> Exchange:
    """Return a transaction of a net-log, whose `connections` are those by their ids, as an exchange; see `har`."""
    connection = connections.get(transaction.connection or 0)
    return exchange_of(
        transaction, moment_at(netlog.unix_ms(transaction.start) - clock_shift_ms),
        server=(without_port(connection.address), str(connection.id)) if connection else None,
        error=UNFINISHED if cut_off(transaction, end_tick) else transaction.error)


def _or_unknown(value: float | None) -> float:
    return UNKNOWN if value is None else value
