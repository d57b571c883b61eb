"""How late an answer is, and how late it may be. What the rules make of it: tests/corpus/test_loads.py."""

import pytest

from harness.analysis.critical_path import Step
from harness.files.layout import Layout
from harness.files.load_parts import LateAnswer
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure.timekeeping import (
    LATE,
    OWN_MS,
    Answered,
    Quiet,
    is_too_late,
    late_answers,
    nothing_came,
    own_time_ms,
    silence_ms,
)

PLT_MS = 2000.0
ALLOWED_MS = {"a.test": 106.0, "b.test": 106.0}
PATH = [Step("wait", 100, 260, "http://a.test/"), Step("cpu", 260, 1000, "http://b.test/x.js"),
        Step("receive", 1000, 2000, "http://b.test/y.js")]


def test_the_thresholds_are_those_of_the_method() -> None:
    assert [LATE.of(*load) for load in ((20, 200), (100, PLT_MS), (200, 1000), (200, 60_000))] == [5, 40, 23, 50]


def test_a_silence_within_a_round_trip_and_a_packet_each_way_is_not_late() -> None:
    assert silence_ms(100, 4) == pytest.approx(106.056)
    assert late_answers([Quiet("a.test", 100, 206)], [], ALLOWED_MS, PATH) == []


def test_the_page_waited_for_what_its_critical_path_waited_for_at_that_moment() -> None:
    [answer] = late_answers([Quiet("a.test", 100, 260)], [], ALLOWED_MS, PATH)
    assert answer == LateAnswer("a.test", 100, 54, critical=True)
    [elsewhere] = late_answers([Quiet("b.test", 100, 260)], [], ALLOWED_MS, PATH)
    assert not elsewhere.critical, "another host's"
    [computing] = late_answers([Quiet("b.test", 300, 600)], [], ALLOWED_MS, PATH)
    assert not computing.critical, "the page ran a script then"
    [before] = late_answers([Quiet("b.test", 0, 1000)], [], ALLOWED_MS, PATH)
    assert not before.critical, "the path meets this host only when the silence is over"


def test_hosts_that_share_a_server_are_late_together() -> None:
    """By the server's name: the page waited for the host, and its own time is that of whichever host answered."""
    layout = Layout("one", {"a.test": "one", "b.test": "one"})
    allowed_ms = {"one": 106.0}
    [answer] = late_answers([Quiet("one", 100, 260)], [], allowed_ms, PATH, layout)
    assert answer == LateAnswer("one", 100, 54, critical=True)
    assert late_answers([Quiet("one", 100, 260)], [Answered("one", 200, 60)], allowed_ms, PATH, layout) == []


def test_what_chrome_reads_late_did_not_come_late() -> None:
    silence = Quiet("a.test", 100, 260)
    assert nothing_came(silence, [90, 205, 300], PLT_MS) == [Quiet("a.test", 100, 205)]
    assert nothing_came(silence, [110, 250], PLT_MS) == [Quiet("a.test", 100, 110), Quiet("a.test", 110, 250)]
    assert nothing_came(silence, [261], PLT_MS) == [Quiet("a.test", 100, 261)], "the same packet, by the other clock"
    assert nothing_came(silence, [99.5], PLT_MS) == [], "it had come when Chrome began to wait for it"
    assert nothing_came(silence, [], 260) == [silence], "the load event cut it: it may never have come"


def test_the_servers_own_time_is_not_lateness() -> None:
    quiet = [Quiet("a.test", 100, 260)]
    assert late_answers(quiet, [Answered("a.test", 200, 54)], ALLOWED_MS, PATH) == []
    for other in (Answered("b.test", 200, 54), Answered("a.test", 261, 54), Answered("a.test", 99, 54)):
        assert late_answers(quiet, [other], ALLOWED_MS, PATH)[0].late_ms == 54


@pytest.mark.parametrize(("method", "thinks", "late_ms"), [
    ("GET", False, 300 - OWN_MS), ("GET", True, 0), ("POST", False, 0)])
def test_a_server_that_stood_still_before_its_answer_was_late(method: str, thinks: bool, late_ms: float) -> None:
    """Stopped between a request's head and the answer, it had 300 ms as its own time, and the load counted."""
    request = ServerRequest("a.test", 1000.0, 1, 1, method, "/", 200, 1, FoundAs.PLAIN, syn_data=False, own_ms=300.0)
    found = late_answers([Quiet("a.test", 100, 506)], [Answered("a.test", 456, own_time_ms(request, thinks=thinks))],
                         ALLOWED_MS, PATH)
    assert [answer.late_ms for answer in found] == ([late_ms] if late_ms else [])


@pytest.mark.parametrize(("rtt_ms", "valid"), [(None, True), (1000, True), (10, False)])
def test_an_answer_is_judged_by_its_own_servers_rtt(rtt_ms: float | None, valid: bool) -> None:
    """30 ms late: within a tenth of 300 ms, or of 1000, but not of 10."""
    assert is_too_late(LateAnswer("a.test", 0, 30, critical=True, rtt_ms=rtt_ms), 300, 500) != valid


def test_the_latest_comes_first() -> None:
    quiet = [Quiet("a.test", 0, 110), Quiet("a.test", 110, 400), Quiet("b.test", 0, 300)]
    assert [answer.late_ms for answer in late_answers(quiet, [], ALLOWED_MS, PATH)] == [194, 184, 4]
