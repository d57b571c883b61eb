"""When a page is complete: silence counts only while somebody looks."""

from types import SimpleNamespace

import pytest

from harness.browser.page import LOOK_S, Unchanged


def test_silence_counts_only_as_far_as_somebody_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stood still for 5 s right after the load event would else end the load."""
    now, value = [100.0], [7]
    monkeypatch.setattr("harness.browser.page.time", SimpleNamespace(monotonic=lambda: now[0]))
    holds = Unchanged(lambda: value[0], 0.5)

    def look_after(seconds: float) -> bool:
        now[0] += seconds
        return holds()

    assert not look_after(5.0)
    assert [look_after(0.11) for _ in range(4)] == [False, False, True, True], f"after {LOOK_S} s that the stop counts"
    value[0] += 1
    assert [look_after(0.15) for _ in range(5)] == [False, False, False, False, True]
