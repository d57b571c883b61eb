"""A slow link of the client's: what waited for it was not late, and what did not was."""

import pytest

from harness.measure.home_link import HomeLink
from harness.measure.timekeeping import Quiet

UP_MBIT, DOWN_MBIT = 0.256, 4.0
REQUEST_MS = 1000 * 8 / 256
"""What 1000 bytes take up."""
FRAME_MS = 1514 * 8 / 4000


def waits(silence: Quiet, sent: list[tuple[float, float]], came_ms: list[float]) -> float:
    [left] = HomeLink(DOWN_MBIT, UP_MBIT, sent, came_ms).without_waits([silence])
    assert left.end_ms == silence.end_ms
    return left.start_ms - silence.start_ms


def test_an_idle_link_excuses_nothing() -> None:
    assert waits(Quiet("a", 500, 900), [(100.0, 1000.0)], [450.0]) == 0


def test_requests_queue_before_the_link_up() -> None:
    """Five at once: the last byte of the fifth leaves five times as late; what is sent later excuses nothing."""
    sent = [(100.0, 1000.0)] * 5 + [(150.0, 1000.0)]
    assert waits(Quiet("a", 100, 900), sent, []) == pytest.approx(5 * REQUEST_MS)
    assert waits(Quiet("a", 120, 900), sent, []) == pytest.approx(5 * REQUEST_MS - 20)


def test_packets_of_all_servers_queue_before_the_link_down() -> None:
    assert waits(Quiet("a", 100, 900), [], [50.0, *range(200, 300, 10), 950.0]) == pytest.approx(10 * FRAME_MS)


def test_a_silence_that_was_all_wait_is_none() -> None:
    assert HomeLink(DOWN_MBIT, UP_MBIT, [(0.0, 1e6)], []).without_waits([Quiet("a", 0, 300)]) == []
