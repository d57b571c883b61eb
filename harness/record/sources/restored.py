"""After Chrome has loaded a page from a source: give each exchange what the source knows of it.

The net-log has what the servers on loopback sent; the recording gets the recorded head, protocol and date. Requests
without an answer become failures, and not a site's 404. How long anything took is not known: the times of loading from
loopback are nobody's.
"""

from http import HTTPStatus
from math import inf

from msgspec.structs import replace

from harness.files.exchange import Answer, Exchange, Phases
from harness.files.headers import without
from harness.mirror.live import first_message_s
from harness.record.page import PageRecording, Seen
from harness.record.sources.brought import NUMBER, Brought, same_name


def restore(recording: PageRecording, brought: Brought) -> None:
    """Put into `recording` what the source has written down: when each answer came and how long its handshake and the
    wait took, where the source has that; all other times are unknown.
    """
    recording.brought = brought
    recording.websockets = [websocket for websocket in recording.websockets     # without those that the source lacks
                            if websocket.answer.status != HTTPStatus.NOT_IMPLEMENTED]
    missing, numbered = brought.missing(), {str(number): each for number, each in enumerate(brought.exchanges, start=1)}
    for seen in recording.requests:
        answered = seen.archived = numbered.get(seen.exchange.answer.header(NUMBER))
        if seen.transaction.main_frame and seen.stands_in:        # another page is not this one
            seen.archived = None
        if seen.archived is not None:
            _restore(seen, seen.archived)
        elif answered is not None or (seen.status and seen.transaction.connection is not None
                                      and not _is_preflight(seen)):
            _lose(seen, missing.get(same_name(seen.url)) or Exchange(request=seen.exchange.request))
        # Chrome answered the others itself, or nobody did; or the servers allowed it (CORS).
    known = [seen.archived.started for seen in recording.requests if seen.archived and seen.archived.started]
    recording.began = min(known, default=recording.began)
    told_s, moment = first_message_s(recording.websockets), recording.netlog.moment
    for seen in recording.requests:
        there = seen.archived or Exchange(request=seen.exchange.request)
        answer, seen.stays_open = seen.exchange.answer, False
        seen.exchange = replace(
            seen.exchange, answer=replace(answer, arrivals=(), protocol=there.answer.protocol or answer.protocol),
            started=there.started or recording.began, time_ms=0.0, phases=Phases(wait=there.phases.wait),
            handshake_ms=there.handshake_ms, connection="", address="",
            after_message=moment(seen.transaction.start).timestamp() > told_s if told_s < inf else None)
    recording.set_fates()


def _is_preflight(seen: Seen) -> bool:
    """Say whether Chrome asked before it asked (CORS): the servers allow it, since most archives do not have these."""
    return seen.transaction.method == "OPTIONS" and seen.status == HTTPStatus.NO_CONTENT


def _lose(seen: Seen, lost: Exchange) -> None:
    """Make a failure of what the source does not have."""
    seen.lost = lost
    error = f"in the archive without its body ({lost.error})" if lost.error else "not in the archive"
    seen.exchange = replace(seen.exchange, answer=Answer(partial=True), error=error, note=error)


def _restore(seen: Seen, found: Exchange) -> None:
    """Give an answer the recorded head."""
    sent, answer = seen.exchange.answer, found.answer
    headers, part = answer.headers or (), sent.header("content-range")
    if part and part != answer.header("content-range"):     # what was asked for is what the recording has
        headers = (*without(headers, "content-range", "content-length"), ("Content-Range", part))
    note = f"a stand-in: recorded for {found.request.url}" if seen.stands_in else seen.exchange.note
    seen.exchange = replace(seen.exchange, note=note, answer=replace(
        sent, reason=" ".join(answer.reason.split()), headers=headers))
