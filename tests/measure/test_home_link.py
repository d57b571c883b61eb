"""A slow link of the client's: what waited for it was not late, and what did not was."""

import pytest

from harness.measure.home_link import HomeLink, sent_upwards
from harness.measure.timekeeping import Answered, Quiet, late_answers
from tests.support.critical_paths import timeline
from tests.support.made_har import MadeLoad

UP_MBIT, DOWN_MBIT = 0.256, 4.0
REQUEST_MS = 1000 * 8 / 256
"""What 1000 bytes take up."""
FRAME_MS = 1514 * 8 / 4000


def waits(silence: Quiet, sent: list[tuple[float, float]], came_ms: list[float]) -> float:
    [found] = HomeLink(DOWN_MBIT, UP_MBIT, sent, came_ms).with_waits([silence])
    assert (found.start_ms, found.end_ms) == (silence.start_ms, silence.end_ms)
    return found.waited_ms


def test_an_idle_link_excuses_nothing() -> None:
    assert waits(Quiet("a", 500, 900), [(100.0, 1000.0)], [450.0]) == 0


def test_requests_queue_before_the_link_up() -> None:
    """Five at once: the last byte of the fifth leaves five times as late; what is sent later excuses nothing."""
    sent = [(100.0, 1000.0)] * 5 + [(150.0, 1000.0)]
    assert waits(Quiet("a", 100, 900), sent, []) == pytest.approx(5 * REQUEST_MS)
    assert waits(Quiet("a", 120, 900), sent, []) == pytest.approx(5 * REQUEST_MS - 20)


def test_a_har_may_have_a_request_sent_a_little_later_than_its_silence_begins() -> None:
    """Its dates are in whole ms: the page's, 0.4 ms after a whole one, is rounded down, and all else seems later."""
    assert waits(Quiet("a", 99.6, 900), [(100.0, 1000.0)] * 2, []) == pytest.approx(2 * REQUEST_MS + 0.4)


def test_packets_of_all_servers_queue_before_the_link_down() -> None:
    came_ms = [900 - FRAME_MS * number for number in range(10)]
    assert waits(Quiet("a", 100, 900), [], [50.0, *reversed(came_ms), 950.0]) == pytest.approx(10 * FRAME_MS)


def test_nothing_waits_for_a_link_that_is_idle_at_times() -> None:
    """Packets of others that came long before the answer, or with pauses between them, held up nothing."""
    assert waits(Quiet("a", 100, 900), [], [*range(200, 600, 4)]) == 0
    assert waits(Quiet("a", 100, 900), [], [*range(101, 901, 4)]) <= 2 * FRAME_MS


def test_the_delay_line_holds_what_has_passed_the_link() -> None:
    """Each server's as long as its RTT is: what ended the silence had passed it 200 ms before."""
    came_ms = [700 - FRAME_MS * number for number in range(50)]
    [found] = HomeLink(DOWN_MBIT, UP_MBIT, [], came_ms[::-1], {"a": 200.0}).with_waits([Quiet("a", 100, 900)])
    assert found.waited_ms == pytest.approx(50 * FRAME_MS)


def test_a_silence_that_was_all_wait_is_none() -> None:
    quiet = HomeLink(DOWN_MBIT, UP_MBIT, [(0.0, 1e6)], []).with_waits([Quiet("a", 0, 300)])
    assert late_answers(quiet, [], {"a": 0.0}, []) == []


def test_a_server_may_think_before_the_link_is_full() -> None:
    """It thinks for 100 ms; then 66 packets of another server come before its answer, whose RTT is 20 ms."""
    came_ms = [120 + FRAME_MS * number for number in range(67)]
    quiet = HomeLink(DOWN_MBIT, UP_MBIT, [], came_ms).with_waits([Quiet("a", 0, came_ms[-1])])
    thought = [Answered("a", begun_ms=110, own_ms=100)]
    assert late_answers(quiet, thought, {"a": 20.0}, []) == []
    [late] = late_answers(quiet, [], {"a": 20.0}, [])
    assert late.late_ms == pytest.approx(100, abs=FRAME_MS)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_is_posted_goes_up_too(scheme: str) -> None:
    """20 kB of a beacon take 0.6 s up, and what another server is asked meanwhile waits for them."""
    load = MadeLoad(2000)
    load.add(f"{scheme}://a.test/beacon", 100, "data", connect=-1, connection=1)
    load.entries[-1]["request"]["bodySize"] = 20_000
    [(sent_ms, _)] = sent = sent_upwards(timeline(load))
    assert sent_ms == 100
    assert waits(Quiet("b", 110, 900), sent, []) > 600
