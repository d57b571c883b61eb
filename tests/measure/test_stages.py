"""What is to be measured at each RTT of an experiment, whose network is built once."""

from pathlib import Path
from typing import Any

import pytest

from harness.measure.resume import Plan
from harness.measure.settings import Settings
from harness.network.star import LinkSpeeds
from tests.support.bench import FIRST, SECOND, Bench

LINKS = [LinkSpeeds(delay_net_ms=10), LinkSpeeds(delay_net_ms=50)]
KNOWN: list[dict[str, Any]] = [{}, {}]
PLAN = Plan(pages=[FIRST, SECOND], settings=Settings(testruns=3))


def test_the_first_rtt_that_lacks_loads_warms_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is there at 20 ms, nothing at 100 ms: on a new network cookies are missing there."""
    bench = Bench(tmp_path)
    bench.run(monkeypatch)
    first, second = PLAN.stages(LINKS, KNOWN, bench.client_dir)
    assert [*first.to_do] == []
    assert [load.run for load in second.to_do] == [0] * 4 + [1] * 4 + [2] * 4
    assert first.says_it_is_done()
    assert not second.says_it_is_done()
