"""The prediction against the measurement: pages built for it, loaded by a real Chrome over a real star."""

import subprocess
from pathlib import Path

import pytest

from harness.explanation import explain
from harness.pages import sanitise
from harness.prediction import predict
from harness.results import Results, read_results
from harness.selection import select
from tests.explained_pages import BUSY, CHAIN, HANDSHAKES, KEPT, SIX, make_pages
from tests.project_copy import HASTY

RTT_MS = 200
TOLERANCE_PERCENT = 5

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]


def measure(base: Path, http: str, *pages: str) -> Results:
    """Load `pages` once to warm up and once for the record, without and with TFO."""
    make_pages(base, *pages)
    command = [*HASTY, "0.2", "--dir", str(base), "--name", "small", "--http", http,
               "--delaynet", str(RTT_MS // 2), "--testruns", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_results(base / "client")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return measure(tmp_path_factory.mktemp("explained"), "1.0", CHAIN, SIX, BUSY)


def assert_explained(results: Results, url: str, handshakes: int) -> None:
    """Handshakes are counted exactly in every load, and the prediction is within 5% of the load with TFO."""
    for load in results.loads:
        if load.url == url and (load.run > 0 or not load.tfo):      # with TFO, run 0 has no cookies yet
            found = explain(load, RTT_MS)
            assert found is not None
            assert found.handshakes == (0 if load.tfo else handshakes), found.steps
            assert sum(found.breakdown_ms.values()) == pytest.approx(load.plt_ms)
    one = predict(select(results, "load"), sanitise(url), RTT_MS)
    assert one is not None
    assert one.measured_ms is not None
    assert abs(one.predicted_ms - one.measured_ms) < one.measured_ms * TOLERANCE_PERCENT / 100, one


@pytest.mark.parametrize("url", [CHAIN, SIX, BUSY])
def test_over_http_1_0(results: Results, url: str) -> None:
    assert_explained(results, url, HANDSHAKES[url])


def test_one_kept_connection_has_one_handshake(tmp_path: Path) -> None:
    assert_explained(measure(tmp_path, "1.1", KEPT), KEPT, 1)
