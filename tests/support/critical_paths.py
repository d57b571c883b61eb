"""The critical path of a made load, and what TFO saves of it."""

from itertools import pairwise

from harness.analysis.causes import dependencies
from harness.analysis.explanation import KINDS, Step, critical_path
from harness.analysis.timeline import Timeline, make_timeline
from harness.analysis.what_if import Circumstances, saved_ms
from tests.support.made_har import MadeLoad

RTT_MS = 100


def timeline(load: MadeLoad) -> Timeline:
    return make_timeline(load.log(), load.record(), load.plt_ms)


def path_of(load: MadeLoad) -> list[Step]:
    found = timeline(load)
    steps = critical_path(found, dependencies(found))
    assert_whole(steps, load.plt_ms)
    return steps


def assert_whole(steps: list[Step], plt_ms: float) -> None:
    """The steps cover the time from 0 to the load event without gap or overlap."""
    assert steps[0].start_ms == 0
    assert steps[-1].end_ms == plt_ms
    assert all(step.end_ms == following.start_ms for step, following in pairwise(steps))
    assert all(step.length_ms > 0 and step.kind in KINDS for step in steps)


def saving(load: MadeLoad) -> float:
    found = timeline(load)
    return saved_ms(found, dependencies(found), Circumstances(RTT_MS))
