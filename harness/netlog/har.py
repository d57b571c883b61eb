"""Page loads as HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which developer tools open.

What an entry has is written in harness.files.har. Chrome logs no cookie values and no bodies: `cookies` are empty, and
there is no `text`.
"""

from typing import Any

from harness.files.exchange import UNKNOWN, Answer, Exchange, Request, fate_of
from harness.files.har import PageTimes, har_log, moment_at, to_har
from harness.files.headers import header_in
from harness.files.load_event import LoadEvent
from harness.netlog.load import NetLog, error_of, of_load
from harness.netlog.requests import HttpTransaction
from harness.system.tcp import without_port


def har(netlog: NetLog, url: str, start_tick: float, *, end_tick: float | None = None,
        load_event: LoadEvent | None = None, on_content_load_ms: float | None = None, on_load_ms: float | None = None,
        clock_shift_ms: float = 0.0, comment: str = "") -> dict[str, Any]:
    """Return the load of `url` that began at `start_tick` as a HAR 1.2 object, ready for json.dump.

    `end_tick` and `load_event` as in `exchanges`. `on_content_load_ms` and `on_load_ms` count from the start of the
    load. `clock_shift_ms` is what Chrome's wall clock was ahead of the true one; dates in the HAR are true ones.
    """
    found = exchanges(netlog, start_tick, end_tick, load_event, clock_shift_ms=clock_shift_ms)
    times = PageTimes(moment_at(netlog.unix_ms(start_tick) - clock_shift_ms),
                      *(UNKNOWN if ms is None else ms for ms in (on_content_load_ms, on_load_ms)))
    return har_log(url, [*map(to_har, found)], times, browser=netlog.browser_version, comment=comment)


def exchanges(netlog: NetLog, start_tick: float, end_tick: float | None = None, load_event: LoadEvent | None = None, *,
              clock_shift_ms: float = 0.0) -> list[Exchange]:
    """Return what was asked for in the load that began at `start_tick`, in order of start, each with its fate.

    What was not over at `end_tick` (None: when the log ended) is UNFINISHED. `load_event`, in ticks, is None where
    there was none, or nobody knows when.
    """
    connections = {connection.id: connection for connection in netlog.connections}
    found = []
    for transaction in of_load(netlog, start_tick, end_tick):
        connection = connections.get(transaction.connection or 0)
        found.append(Exchange(
            request=Request(transaction.method, transaction.url, transaction.request_headers),
            answer=_answer(transaction), started=moment_at(netlog.unix_ms(transaction.start) - clock_shift_ms),
            phases=transaction.phases, connection=str(connection.id) if connection else "",
            address=without_port(connection.address) if connection else "",
            error=(error := error_of(transaction, end_tick)),
            fate=fate_of(transaction.url, error, answered=bool(transaction.status), late=load_event is not None
                         and load_event.is_late(transaction.start, transaction.end)),
            from_cache=transaction.from_cache, initiator=transaction.initiator, synchronous=transaction.synchronous))
    return found


def _answer(transaction: HttpTransaction) -> Answer:
    headers = transaction.response_headers
    return Answer(
        status=transaction.status, reason=transaction.status_text,
        protocol=transaction.protocol, headers=headers,
        mime_type=header_in(headers, "content-type"), redirect_url=transaction.redirect_url or "",
        content_bytes=transaction.content_bytes,
        body_bytes=transaction.body_bytes if transaction.status or transaction.from_cache else UNKNOWN,
        early_hints=transaction.early_hints)
