"""What fetch.py records of a network whose RTTs and servers' thinking are known: the same, for --rtt and --think."""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from harness.bootstrap import ROOT
from harness.files.pages import PageFiles
from harness.mirror.recording import read_recording
from harness.mirror.servers import recorded_rtts
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.thinking_servers import FAR, KIND_OF, LEAST_MS, NEAR, PAGE, ROUNDS, Kind, record_thinking_servers

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
RTTS_MS = {NEAR: 40.0, FAR: 240.0}


def test_connect_times_are_the_networks_rtts_and_waits_these_and_the_servers_own_time(tmp_path: Path) -> None:
    """Recorded in the star, from servers that replay. The median of each kind of wait is nearer to what it was than to
    what any other kind's would be.

    A single one may be off both ways: Chrome reads an answer late, or notes late that it sent the request, as sending
    a packet wakes those who hand it on.
    """
    record_thinking_servers(tmp_path, RTTS_MS)
    (tmp_path / "again.pages").write_text(f"{PAGE}\n")
    fetch = (f"{sys.executable} {ROOT}/fetch.py --dir {tmp_path} --name again --remap {tmp_path}/hack_dns --no-trial "
             "--quiet 0.5")
    ran(*TFO, "--dir", tmp_path, "--name", "small", "--rtt", "recorded", "--think", "recorded", "--on-user", fetch,
        status=0)
    again = PageFiles(tmp_path, "again")
    recording = read_recording(again.mirror, again.fetchlog)
    found = recorded_rtts(again, recording)
    assert found.assumed == ()
    for host, rtt_ms in RTTS_MS.items():
        assert found.rtts_ms[host] >= rtt_ms - 1, "the net-log's clock counts whole milliseconds"
        assert found.rtts_ms[host] == pytest.approx(rtt_ms, abs=LEAST_MS / 2), "the shortest of several"
    waits_ms: dict[Kind, list[float]] = defaultdict(list)
    for answer in recording.each:
        if answer.url in KIND_OF:
            assert answer.wait_ms is not None
            waits_ms[KIND_OF[answer.url]].append(answer.wait_ms)
    assert {kind: len(times_ms) for kind, times_ms in waits_ms.items()} == dict.fromkeys(KIND_OF.values(), ROUNDS)
    for kind, times_ms in waits_ms.items():
        assert median(times_ms) == pytest.approx(RTTS_MS[kind.host] + kind.think_ms, abs=LEAST_MS / 2), times_ms
