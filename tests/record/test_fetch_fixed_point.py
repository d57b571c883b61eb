"""Recording a replay gives the recording that is replayed: the same files, bytes, statuses and protocols."""

from pathlib import Path

import pytest

from harness.files.server_log import read_server_log
from tests.support.fetched import tree
from tests.support.internet.again import CUT, answers, replayed
from tests.support.internet.recorded import NAME, copy_of_the_recording, record
from tests.support.internet.server import NGINX

pytestmark = [pytest.mark.chrome, pytest.mark.slow,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
FIRST, SECOND = NAME, "second"


def test_recording_a_replay_gives_the_same_recording(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy_of_the_recording(tmp_path, tmp_path_factory)
    with replayed(tmp_path, FIRST) as (remap, ca):
        record(tmp_path, SECOND, remap, ca)
    first, second = tree(tmp_path / FIRST), tree(tmp_path / SECOND)
    for name in CUT:
        assert first.pop(name).startswith(second.pop(name)), name
    assert second == first
    assert answers(tmp_path / f"{SECOND}.fetchlog") == answers(tmp_path / f"{FIRST}.fetchlog")
    asked = [request for log in (tmp_path / "logs").rglob("*.test") for request in read_server_log(log)]
    assert len(asked) > 60
    assert [request.path for request in asked if request.found in ("missing", "best-match")] == []
