"""What a load event did not wait for."""

import pytest

from harness.files.load_event import LoadEvent, load_event_of

EVENT = LoadEvent(3688.0, 3696.2)
"""Of google.com's page as GitHub ahume128/gt-cs6250 recorded it: its handler asks for a picture and a beacon."""


@pytest.mark.parametrize(("start_ms", "end_ms", "late"), [
    (3600, 3690, False), (3600, 3800, False), (3689, 3790, True), (3689, None, True), (3700, 3800, True),
    (3689, 3696, False)])       # the handler may have waited for this one
def test_what_a_handler_asks_for_does_not_hold_up_its_event(start_ms: float, end_ms: float | None, late: bool) -> None:
    assert EVENT.is_late(start_ms, end_ms) == late


def test_the_event_is_read_from_a_pages_timing() -> None:
    assert load_event_of({"loadEventStart": 8.0, "loadEventEnd": 10}, began_ms=100) == LoadEvent(108, 110)
    assert load_event_of({"loadEventEnd": 10}) == LoadEvent(10, 10)
    assert load_event_of({"loadEventStart": 8.0, "loadEventEnd": 0}) is load_event_of({}) is None
