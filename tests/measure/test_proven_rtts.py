"""RTTs are measured until all are what they should be, or until patience ends."""

from collections.abc import Callable

import pytest

from harness.errors import ExperimentError
from harness.measure import proven_rtts
from harness.measure.rtts import RttsMs, measured_in_words, proven_rtts_ms

WANTED_MS = 100.0
RIGHT, WRONG = {"a.test": 100.4, "b.test": 100.2}, {"a.test": 100.4, "b.test": 140.0}


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long a quiet machine was waited for each time; no time passes."""
    waits_s: list[float] = []
    monkeypatch.setattr(proven_rtts, "wait_for_quiet", waits_s.append)
    return waits_s


def one_after_the_other(*found: RttsMs) -> Callable[[], RttsMs]:
    left = list(found)
    return lambda: left.pop(0)


def test_a_wrong_rtt_is_measured_again_once_the_machine_is_quiet(waits_s: list[float],
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    measure = one_after_the_other(WRONG, WRONG, RIGHT)
    assert proven_rtts_ms(measure, WANTED_MS, measured_in_words, 60) == RIGHT
    assert waits_s == [proven_rtts.RTT_PAUSE_S] * 2
    assert capsys.readouterr().out.splitlines() == [
        *["2 servers: 100.4 to 140.0 ms measured"] * 2, "2 servers: 100.2 to 100.4 ms measured"]


def test_without_patience_it_ends_at_once(waits_s: list[float]) -> None:
    with pytest.raises(ExperimentError, match=r"^RTT to b\.test is 140\.0 ms, not 100 \+- 3\.0 ms: nothing was measur"):
        proven_rtts_ms(one_after_the_other(WRONG), WANTED_MS, measured_in_words, 0)
    assert waits_s == []


def test_no_wait_is_longer_than_the_patience_that_is_left(waits_s: list[float]) -> None:
    assert proven_rtts_ms(one_after_the_other(WRONG, RIGHT), WANTED_MS, measured_in_words, 2) == RIGHT
    assert len(waits_s) == 1
    assert 1 < waits_s[0] <= 2
