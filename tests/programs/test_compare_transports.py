"""tfo.py --compare-transports on a small page over https: round trips as in theory, proved by both ends."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.files.transport import Transport
from tests.support.https_recording import HttpsRecording
from tests.support.project_copy import TFO

RTT_MS = 200
SHARE, SLACK_MS = 0.03, 6.0
"""How far from theory the wait for the document may be."""
URL = "https://www.one.test/"
HTML = (("Content-Type", "text/html"),)

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(300)]


def record(directory: Path) -> Path:
    """Record a page with an image on another host."""
    recorded = HttpsRecording(directory, "small")
    body = b'<!doctype html><link rel="icon" href="data:,"><p>one</p><iframe src="https://two.test/"></iframe>'
    recorded.add(URL, body, HTML, version="h2")
    recorded.add("https://two.test/", b'<!doctype html><link rel="icon" href="data:,">two', HTML, version="h2")
    return recorded.finish(URL)


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> dict[Transport, dict[str, Any]]:
    """Return the record of a measured load over each transport."""
    pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/quic.py)")
    base = record(tmp_path_factory.mktemp("compared"))
    command = [*TFO, "--quiet", "0.2", "--dir", str(base), "--name", "small", "--compare-transports", "--testruns", "2",
               "--delaynet", str(RTT_MS // 2)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in (base / "client").glob("*-1-tfo-*/*.json")]
    return {Transport.of(record["tfo"], early=record.get("early", False), quic=record.get("quic", False)): record
            for record in records}


def test_both_ends_prove_what_each_connection_did(loads: dict[Transport, dict[str, Any]]) -> None:
    assert set(loads) == {*Transport}
    for over, load in loads.items():
        counts = load["early_data"]
        assert (counts["possible"], counts["resumed"]) == (2, 2), over
        assert (counts["sent"], counts["accepted"]) == (2 * over.early, 2 * over.early), over
        assert counts["in_syn"] == 2 * (over is Transport.TFO_EARLY)
        assert load["syn_data_connections"] == 2 * over.tfo
        assert load["requests"] == 2
        assert [connection.get("quic", False) for connection in load["connections"]] == [over.quic] * 2


@pytest.mark.timing
def test_the_document_waits_for_as_many_round_trips_as_theory_says(loads: dict[Transport, dict[str, Any]]) -> None:
    for over, load in loads.items():
        timing = load["navigation_timing"]
        wait_ms, theory_ms = timing["responseStart"] - timing["connectStart"], over.round_trips * RTT_MS
        assert abs(wait_ms - theory_ms) <= SHARE * theory_ms + SLACK_MS, (over, wait_ms)
