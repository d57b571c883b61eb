"""--rtt recorded --think recorded, by a recording's HAR: what each server was, it is again."""

import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.files.load_record import LoadRecord, read_load_record
from harness.files.pages import sanitise
from harness.files.server_log import ServerRequest, read_server_logs
from tests.support.project_copy import TFO
from tests.support.thinking_servers import (
    FAR,
    KIND_OF,
    KINDS,
    LEAST_MS,
    NEAR,
    PAGE,
    ROUNDS,
    Kind,
    record_thinking_servers,
)

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
RTTS_MS = {NEAR: 20.0, FAR: 120.0}


@dataclass(frozen=True)
class Measured:
    """One experiment with TFO: its measured load, and what the servers logged of it."""

    base: Path
    said: str
    record: LoadRecord
    requests: list[ServerRequest]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    base: Path = tmp_path_factory.mktemp("as-recorded")
    record_thinking_servers(base, RTTS_MS)
    done = subprocess.run([*TFO, "--quiet", "0.2", "--dir", str(base), "--name", "small", "--testruns", "2", "--tfo",
                           "1", "--rtt", "recorded", "--think", "recorded"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    record = read_load_record(base / "client" / "35-1-tfo-1" / f"{sanitise(PAGE)}.json")
    requests = [request for request in read_server_logs(base / "serverlogs" / "35-tfo-1")
                if request.time_s >= (record.began_s or 0)]
    return Measured(base, done.stdout, record, requests)


def test_every_server_thinks_as_it_did(measured: Measured) -> None:
    """A busy machine may add to some of a kind's answers, not to all."""
    own_ms: dict[Kind, list[float]] = defaultdict(list)
    for request in measured.requests:
        if kind := KIND_OF.get(f"http://{request.host}{request.path}"):
            own_ms[kind].append(request.own_ms or 0.0)
    assert set(own_ms) == set(KINDS)
    for kind, times_ms in own_ms.items():
        assert kind.think_ms <= min(times_ms) < kind.think_ms + LEAST_MS, times_ms
    assert measured.record.plt_ms is not None
    assert measured.record.plt_ms >= sum(RTTS_MS[kind.host] + kind.think_ms for kind in KIND_OF.values())


def test_no_answer_is_late_for_that(measured: Measured) -> None:
    """And what is late is judged by its own server's RTT."""
    assert measured.record.valid
    assert measured.record.timekeeping is not None
    late = measured.record.timekeeping.late
    for kind in KINDS[:2]:      # had its thinking counted as that, each of its answers would be
        assert sum(answer.host == kind.host and answer.late_ms >= kind.think_ms for answer in late) < ROUNDS
    assert all(answer.rtt_ms == RTTS_MS[answer.host] for answer in late)


def test_with_other_settings_it_is_another_experiment(measured: Measured) -> None:
    """At the same nominal RTT: of neither does --resume take loads for the other's."""
    command = [*TFO, "--dir", str(measured.base), "--name", "small", "--testruns", "2", "--tfo", "1", "--resume"]
    for more, what in ((("--rtt", "recorded"), "think was 'recorded', and is 'None' now"),
                       (("--think", "recorded", "--delaynet", "35"), "rtt was 'recorded', and is 'None' now")):
        refused = subprocess.run([*command, "--quiet", "0.2", *more], capture_output=True, text=True,
                                 check=False)
        assert refused.returncode == 2
        assert what in refused.stderr
