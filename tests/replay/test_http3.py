"""http_tfo.py --http h3, asked by aioquic's own client: the answers of HTTP/2, sessions, early data, priorities."""

from statistics import median

import pytest

from tests.support.replay_process import Running
from tests.support.waiting import wait_until

pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/http3.py)")
from aioquic.h3.connection import Setting

from tests.support.http3_client import ask_over_http3


def test_a_session_is_taken_up_again_with_early_data(quic: Running) -> None:
    visits = [ask_over_http3(quic, ("/",), ("/gone",))]
    visits += [ask_over_http3(quic, ("/",), ("/gone",), session=visits[0].tickets[0]) for _ in range(2)]
    lines = quic.log()[-6:]
    assert [(visit.early, visit.resumed) for visit in visits] == [(False, False), (True, True), (True, True)]
    assert [(line.early, line.resumed) for line in lines] == [("-", False)] * 2 + [("data", True)] * 4
    assert [bytes(visit.answers[1].body) for visit in visits] == [b"sorry"] * 3


@pytest.mark.parametrize(("priority", "least", "most"), [("u=3, i", 1.5, 2), ("u=3", 1, 1.5)])
def test_those_that_take_turns_end_together_and_the_others_one_after_the_other(quic: Running, priority: str,
                                                                               least: float, most: float) -> None:
    """The last pieces of one and the first of the next, 16 kB each, go together.

    The median of three visits: on a busy machine one answer may have begun well before the other is asked for.
    """
    visits = [ask_over_http3(quic, *[("/middle", "GET", ("priority", priority))] * 2) for _ in range(3)]
    assert least <= median(visit.came[0] / len(visit.answers[0].body) for visit in visits) <= most


def test_news_comes_in_its_time_among_other_answers_and_what_nobody_wants_any_more_is_noted(quic: Running) -> None:
    """News has no end: the client leaves it, and an answer that is still being sent."""
    visit = ask_over_http3(quic, ("/news",), ("/gone",), ("/big",), leaves_after=9)
    assert [bytes(answer.body) for answer in visit.answers[:2]] == [b"now later", b"sorry"]
    wait_until(lambda: [line.path for line in quic.log()[-3:]] == ["/news", "/gone", "/big"])
    assert [9 <= line.bytes < 10 ** 6 for line in quic.log()[-3:]] == [True, False, True]


def test_a_connection_without_a_request_is_noted_and_offers_no_websockets(quic: Running) -> None:
    """Chrome opens a TCP connection for each then, as to most sites."""
    assert Setting.ENABLE_CONNECT_PROTOCOL not in (ask_over_http3(quic).http.received_settings or {})
    wait_until(lambda: [(line.found, line.protocol) for line in quic.log()][-1:] == [("silent", "h3")])
