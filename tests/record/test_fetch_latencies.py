"""What fetch.py records of a network whose RTTs and servers' thinking are known: the same, for --rtt and --think."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.pages import PageFiles
from harness.mirror.recording import Recording, read_recording
from harness.mirror.rtts import recorded_rtts
from tests.support.project_copy import TFO
from tests.support.thinking_servers import FAR, LAST, NEAR, PAGE, SCRIPT, record_thinking_servers

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(240)]
RTTS_MS = {NEAR: 40.0, FAR: 240.0}
THINKS_MS = {PAGE: 150.0, SCRIPT: 600.0, LAST: 0.0}
MORE_MS = 190
"""What a busy machine may add; neither server's times would pass for the other's."""
LATE_MS = 100
"""How much later than it went a busy Chrome may note that a request was sent: its wait seems that much shorter."""


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> PageFiles:
    """Record, in the star, what its servers replay."""
    base: Path = tmp_path_factory.mktemp("latencies")
    record_thinking_servers(base, RTTS_MS, THINKS_MS)
    (base / "again.pages").write_text(f"{PAGE}\n")
    fetch = f"{sys.executable} {ROOT}/fetch.py --dir {base} --name again --remap {base}/hack_dns --no-trial --quiet 0.5"
    done = subprocess.run([*TFO, "--dir", str(base), "--name", "small", "--rtt", "recorded", "--think", "recorded",
                           "--on-user", fetch], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return PageFiles(base, "again")


@pytest.fixture(scope="module")
def recording(again: PageFiles) -> Recording:
    return read_recording(again.mirror, again.fetchlog)


def test_connect_times_are_the_networks_rtts(again: PageFiles, recording: Recording) -> None:
    found = recorded_rtts(again, recording)
    assert found.assumed == ()
    for host, rtt_ms in RTTS_MS.items():
        assert rtt_ms - 1 <= found.rtts_ms[host] < rtt_ms + MORE_MS, "the net-log's clock counts whole milliseconds"


def test_waits_are_a_round_trip_and_the_servers_own_time(recording: Recording) -> None:
    waits_ms = {answer.url: answer.wait_ms for of_host in recording.answers.values() for sequence in of_host.values()
                for answer in sequence}
    for url, think_ms in THINKS_MS.items():
        rtt_ms = RTTS_MS[url.split("/")[2]]
        assert waits_ms[url] is not None
        assert rtt_ms + think_ms - LATE_MS <= (waits_ms[url] or 0.0) < rtt_ms + think_ms + MORE_MS
