"""Explanations of made loads: their breakdown and their handshakes."""

import json
from pathlib import Path

import pytest

from harness.analysis.explanation import Explanation, explain
from harness.analysis.what_if import SYN_BYTES
from harness.files.results import LoadResult
from tests.support.made_har import PAGE, MadeLoad, chain


def explained(load: LoadResult) -> Explanation:
    explain.cache_clear()       # a test may have changed the load's files
    found = explain(load, load.rtt_ms)
    assert found is not None
    return found


def test_of_two_requests_for_one_url_each_has_its_own_handshake(tmp_path: Path) -> None:
    """As a long POST and a short one to one address: since the short one fits into a SYN, both were called savable."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    end = load.add(f"{PAGE}graphql", end, "script", request_bytes=SYN_BYTES + 1)
    load.plt_ms = load.add(f"{PAGE}graphql", end, "script") + 1
    explanation = explained(load.write(tmp_path))
    assert explanation.handshakes == 3
    assert explanation.simple_prediction_ms == explanation.predicted_plt_ms == load.plt_ms - 200


def test_a_post_quantum_client_hello_saves_nothing(tmp_path: Path) -> None:
    load = MadeLoad(0.0)
    load.plt_ms = load.add("https://page.test/", 0, "document", referer="", connect=200, ssl=100) + 1
    written = load.write(tmp_path)
    assert explained(written).predicted_plt_ms == load.plt_ms - 100
    experiment = {"format": 1, "pages": [PAGE], "rtt_ms": 100, "post_quantum": True}
    (tmp_path / "experiment-50.json").write_text(json.dumps(experiment))
    assert explained(written).predicted_plt_ms == load.plt_ms
    assert explained(written).breakdown_ms["tls"] == 100


@pytest.mark.parametrize("har", [None, "", "{", "[]", '{"log": {}}', '{"log": {"pages": [], "entries": []}}',
                                 '{"log": {"pages": [{"startedDateTime": "yesterday"}], "entries": []}}'])
def test_without_a_har_that_can_be_read_there_is_no_explanation(har: str | None, tmp_path: Path) -> None:
    load = chain(1).write(tmp_path)
    path = load.log.with_name(f"{load.page}.har")
    path.unlink() if har is None else path.write_text(har)
    assert explain(load, 100) is None


def test_each_server_has_its_own_rtt(tmp_path: Path) -> None:
    """Handshakes of 100 ms each, to servers 20, 100 and (not told) 60 ms away: TFO saves what a round trip takes."""
    written = chain(3).write(tmp_path)
    experiment = {"format": 1, "pages": [PAGE], "rtt_ms": 60, "server_rtts_ms": {"page.test": 20, "host1.test": 100}}
    (tmp_path / "experiment-50.json").write_text(json.dumps(experiment))
    explain.cache_clear()
    found = explain(written, 60)
    assert found is not None
    assert found.handshakes == 3
    assert found.predicted_plt_ms == found.simple_prediction_ms == pytest.approx((written.plt_ms or 0) - 180)
