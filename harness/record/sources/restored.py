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
    missing = {same_name(each.request.url): each for each in brought.exchanges if each.error}
    numbered = {str(number): each for number, each in enumerate(brought.exchanges, start=1)}
    for seen in recording.requests:
        seen.archived = numbered.get(seen.exchange.answer.header(NUMBER))
        if seen.archived is not None and not (seen.transaction.main_frame and seen.stands_in):
            seen.exchange = replace(seen.exchange, answer=_recorded_head(seen.exchange.answer, seen.archived.answer))
            if seen.stands_in:
                seen.exchange = replace(
                    seen.exchange, note=f"a stand-in: recorded for {seen.archived.request.url}")
        elif seen.archived is not None or (seen.status and seen.transaction.connection is not None
                                           and not _is_preflight(seen)):
            seen.archived = missing.get(same_name(seen.url)) or Exchange(request=seen.exchange.request)
            lost = seen.archived.error
            error = f"in the archive without its body ({lost})" if lost else "not in the archive"
            seen.exchange = replace(seen.exchange, answer=Answer(partial=True), error=error, note=error)
        # Chrome answered the others itself, or nobody did; or the servers allowed it (CORS).
    known = [seen.archived.started for seen in recording.requests if seen.archived and seen.status]
    recording.began = min(filter(None, known), default=recording.began)
    told_s, moment = first_message_s(recording.websockets), recording.netlog.moment
    for seen in recording.requests:
        there = seen.archived if seen.archived and seen.status else Exchange(request=seen.exchange.request)
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


def _recorded_head(sent: Answer, recorded: Answer) -> Answer:
    """Return an answer as it was sent, with the recorded head."""
    headers, part = recorded.headers or (), sent.header("content-range")
    if part and part != recorded.header("content-range"):     # what was asked for is what the recording has
        headers = (*without(headers, "content-range", "content-length"), ("Content-Range", part))
    return replace(sent, reason=" ".join(recorded.reason.split()), headers=headers)
