"""What a delay queue notes of its own lateness, as the process that notes and the one that reads see it."""

import os
import time

import pytest

from harness.system.lateness import SLOT_S, SLOTS, latest_ms, note_lateness, shared_numbers, sharing


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


def test_a_slot_is_used_again() -> None:
    with sharing(2 * SLOTS) as (_, pairs):
        slot = int(time.time() / SLOT_S)
        for place in (slot, slot + 1):      # whichever it is when the packet is noted
            pairs[place % SLOTS * 2], pairs[place % SLOTS * 2 + 1] = place - SLOTS, 999.0
        note_lateness(pairs, 0.005)
        assert latest_ms(pairs, slot * SLOT_S, time.time()) == pytest.approx(5)


def test_another_process_notes() -> None:
    with sharing(2 * SLOTS) as (descriptor, pairs):
        began_s = time.time()
        child = os.fork()
        if child == 0:
            theirs = shared_numbers(descriptor)
            for late_s in (0.0002, 0.3, 0.0001):
                note_lateness(theirs, late_s)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert latest_ms(pairs, began_s, time.time()) == pytest.approx(300)
