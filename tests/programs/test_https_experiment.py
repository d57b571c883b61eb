"""tfo.py on a page of https and http hosts: what TFO saves over TLS, and whose certificates Chrome takes."""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.server_log import ServerRequest, read_server_logs
from harness.replay.authority import AUTHORITY, open_authority
from tests.support.forked import typed
from tests.support.har_schema import assert_har
from tests.support.https_recording import HttpsRecording
from tests.support.project_copy import experiment
from tests.support.ran import ran

RTT_MS = 200
TOLERANCE = 0.2
"""Share of the predicted saving that noise of a 2-core machine's Chrome may take or add, on one load each."""
HTML = (("Content-Type", "text/html"), ("Cache-Control", "max-age=600"))
ICON = '<link rel="icon" href="data:,">'
URL = "https://www.nytimes.com/"


def record(directory: Path) -> Path:
    """Record a redirect from http to a page of https, whose frames are a chain of hosts: HTTP/2, HTTP/1.1, HTTP/2."""
    recorded = HttpsRecording(directory, "small")

    def page(url: str, inner: str, version: str, *more: tuple[str, str]) -> None:
        frame = f'<iframe src="{inner}"></iframe>' if inner else ""
        body = f'<!doctype html>{ICON}<link rel="stylesheet" href="/s.css"><p>{url}</p>{frame}'
        recorded.add(url, body.encode(), (*HTML, *more), version=version)
        recorded.add(f"{url}s.css", b"p { color: green }", (("Content-Type", "text/css"),), version=version)

    recorded.add("http://www.nytimes.com/", status=301, headers=(("Location", URL),), version="http/1.1")
    page(URL, "https://two.test/", "h2", ("Content-Security-Policy", "script-src 'none'"))
    page("https://two.test/", "https://three.test/", "http/1.1")
    page("https://three.test/", "", "h2")
    return recorded.finish("http://www.nytimes.com/")


def loads(base: Path) -> list[dict[str, Any]]:
    records = [json.loads(path.read_text()) for path in sorted((base / "client").glob("*/*.json"))]
    return [record for record in records if record["run"] > 0]


def requests(base: Path, tfo: int) -> list[ServerRequest]:
    return read_server_logs(base / "serverlogs" / f"{RTT_MS // 2}-tfo-{tfo}")


def saving_ms(base: Path) -> float:
    off, on = (statistics.median(float(load["plt_ms"]) for load in loads(base) if load["tfo"] == tfo)
               for tfo in (0, 1))
    return off - on


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.timing
def test_one_rtt_saved_per_connection_over_tls_too(tmp_path: Path) -> None:
    """Four connections in a row: http, then three of https. TFO saves 4 RTTs."""
    base = record(tmp_path)
    experiment(base, "--delaynet", RTT_MS // 2, "--testruns", "2")
    assert (base / "hack_dns").read_text().count(" 8001 https\n") == 3
    for load in loads(base):
        assert (load["valid"], load["requests"], load["answers"]["missing"]) == (True, 7, 0)
        passive = load["counters"]["servers"]["TCPFastOpenPassive"]
        assert load["connections_with_request"] == 4
        assert load["syn_data_connections"] == passive == (4 if load["tfo"] else 0)
    for tfo in (0, 1):
        spoken = {(request.host, request.scheme, request.protocol) for request in requests(base, tfo)
                  if request.found != "silent"}
        assert spoken == {("www.nytimes.com", "http", "HTTP/1.0"), ("www.nytimes.com", "https", "h2"),
                          ("two.test", "https", "HTTP/1.1"), ("three.test", "https", "h2")}
        per_connection = {(request.host, request.connection): request.scheme for request in requests(base, tfo)}
        assert list(per_connection.values()).count("https") == 2 * 3, "both requests to a host share its connection"
    saved_ms = saving_ms(base)
    assert saved_ms == pytest.approx(4 * RTT_MS, rel=TOLERANCE)
    assert_table(base, saved_ms)
    for path in (base / "client").glob("*/*.har"):
        entries = assert_har(path)["entries"]
        assert [entry["response"]["httpVersion"] for entry in entries].count("h2") == 4
        assert {entry["connection"] for entry in entries if entry["request"]["httpVersion"] == "HTTP/1.1"}
    argv = " ".join(loads(base)[0]["environment"]["argv"])
    assert f"--ignore-certificate-errors-spki-list={open_authority(AUTHORITY).fingerprint}" in argv
    assert "--ignore-certificate-errors " not in f"{argv} "


def assert_table(base: Path, saved_ms: float) -> None:
    done = typed(ROOT / "plot.py", "--clientdir", base / "client", "--outputdir", base / "figures")
    rtt, off, on, improvement = done.stdout.splitlines()[2].strip().split("\t")
    assert rtt == f"{RTT_MS}"
    assert (float(off) - float(on)) * 1000 == pytest.approx(saved_ms, abs=1)
    assert float(improvement.rstrip("%")) == pytest.approx((1 - float(on) / float(off)) * 100, abs=0.1)


@pytest.mark.root
@pytest.mark.chrome
def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    """The servers' certificates are made by one authority, Chrome is told another one's fingerprint."""
    base = record(tmp_path / "base")
    open_authority(tmp_path / "other")
    ran(sys.executable, ROOT / "tests" / "support" / "spoiled_experiment.py", f"authority={tmp_path / 'other'}",
        "--dir", base, "--name", "small", "--testruns", "2", "--tfo", "1", "--delaynet", "5", "--retries", "0",
        status=1)
    failed = [load["failed_requests"] for load in loads(base)]
    assert failed == [{"net::ERR_CERT_AUTHORITY_INVALID": 1}]
    assert all("Chrome shows an error page" in load["why_not"] for load in loads(base))
    assert not any(request.scheme == "https" and request.found != "silent" for path in (base / "serverlogs").iterdir()
                   for request in read_server_logs(path))
