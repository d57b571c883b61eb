"""What a trial loses. All else: tests/corpus/test_held.py, test_loads.py."""

from typing import Any

import pytest

from harness.files.load_record import LoadRecord
from harness.measure.coverage import (
    RecordedPage,
    at_any_time,
    failed_or_lost,
)
from tests.support.made_record import made_record


def answer(name: str, **known: Any) -> dict[str, Any]:
    return {"url": f"http://a.test/{name}", "kind": "exact", "identity": name, "status": 200, "bytes": 10, **known}


def load_of(*answers: dict[str, Any]) -> LoadRecord:
    return made_record(plt_ms=900, answers={"exact": 0, "stand_in": 0, "missing": 0, "failed": 0, "each": [*answers]})


@pytest.mark.parametrize(("host", "counts"), [("b.test", True), ("c.test", False)])
def test_what_a_trial_loses_counts_at_any_time(host: str, counts: bool) -> None:
    """Without delay it came after the load event, with some before it: then no load of the experiment was valid."""
    held = RecordedPage(dict.fromkeys("012345678x", 9), urls={"x": "http://b.test/id-1/x"})
    tries = [answer(f"try {number}", url=f"http://{host}/id-{number}/x", identity="", kind="missing", status=404,
                    late=True) for number in range(3)]
    trial = load_of(*map(answer, "012345678"), *tries)
    assert not [*failed_or_lost(trial)]
    assert bool([*failed_or_lost(at_any_time(trial, held))]) == counts
    found = load_of(*map(answer, "012345678"), answer("x", late=True), *tries)
    assert not [*failed_or_lost(at_any_time(found, held))], "nothing was lost"
