"""The delay queue releases packets when they are due, in order, and counts in shared memory how late it was."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.system.delay_queue import (
    LEAD_LIMIT_S,
    SLOT_S,
    SLOTS,
    Alarm,
    DelayQueue,
    latest_ms,
    note_lateness,
    sharing,
)


def packet(name: str, passed: list[str], stamp_s: float = 0.0) -> Any:
    """Return one that notes in `passed` that it was let go; `stamp_s` is when it arrived, 0.0 for one that leaves."""
    return SimpleNamespace(get_timestamp=lambda: stamp_s, accept=lambda: passed.append(name))


def test_packets_go_when_they_are_due_and_equal_ones_in_order() -> None:
    passed: list[str] = []
    queue = DelayQueue()
    together_s = time.monotonic() + 0.2
    queue.hold(packet("late", passed), 3600)
    for name, not_before_s in [("b", together_s), ("c", together_s), ("a", 0.0)]:
        queue.hold(packet(name, passed), 0.0, not_before_s)
    time.sleep(0.21)
    wait_s = queue.release_due()
    assert passed == ["a", "b", "c"]
    assert wait_s is not None
    assert 3000 < wait_s <= 3600


@pytest.mark.parametrize("clock_error_s", [-3600, 3600])
def test_a_clock_that_was_set_meanwhile_moves_no_packet_out_of_its_time(clock_error_s: float) -> None:
    queue = DelayQueue()
    queue.looked_s -= 0.5
    due_s = queue.hold(packet("stamped", [], time.time() + clock_error_s), 1.0)
    assert queue.looked_s + 1.0 <= due_s <= time.monotonic() + 1.0


def test_lateness_is_counted_with_the_time_before_a_packet_was_read() -> None:
    with sharing(2 * SLOTS) as (_, pairs):
        before_s, began_s = time.time(), time.monotonic()
        queue = DelayQueue(pairs)
        queue.looked_s -= 10
        queue.hold(packet("punctual", []), 0.0)
        queue.hold(packet("arriving", [], time.time() - 5), 1.0)
        queue.release_due()
        late_ms = latest_ms(pairs, before_s, time.time())
        took_ms = (time.monotonic() - began_s) * 1000
    assert 4000 <= late_ms < 4100 + took_ms, "by the kernel's time of its arrival"


@given(st.floats(0, LEAD_LIMIT_S / 2), st.floats(0, 0.1))
def test_the_alarm_learns_how_long_waking_takes_and_forgets_a_stall(latency_s: float, stall_s: float) -> None:
    alarm = Alarm()
    assert alarm.lead_s() == 0
    for _ in range(100):
        alarm.overslept(latency_s)
    learnt_s = alarm.lead_s()
    assert learnt_s == pytest.approx(latency_s, rel=0.01, abs=1e-9)
    alarm.overslept(LEAD_LIMIT_S + stall_s)
    assert alarm.lead_s() == learnt_s


@pytest.mark.parametrize(("start_s", "end_s", "expected_ms"), [
    (1000.0, 1000.4, 7.0), (1000.2, 1000.4, 3.0), (1001.0, 1001.9, 100.0), (1001.1, 1001.9, 0.0), (900.0, 999.8, 0.0),
    (1000 + SLOTS * SLOT_S, 1001 + SLOTS * SLOT_S, 0.0)])
def test_only_the_interval_counts(monkeypatch: pytest.MonkeyPatch, start_s: float, end_s: float, expected_ms: float,
                                  ) -> None:
    """What is let go late after the load event, while the page goes on loading or Chrome ends, is not the load's."""
    with sharing(2 * SLOTS) as (_, pairs):
        for at_s, late_s in ((1000.05, 0.007), (1000.06, 0.002), (1000.35, 0.003), (1001.05, 0.1)):
            monkeypatch.setattr(time, "time", lambda at_s=at_s: at_s)
            note_lateness(pairs, late_s)
        assert latest_ms(pairs, start_s, end_s) == pytest.approx(expected_ms)
