"""tfo.py on a page of https and http hosts: what SYNs carry, what is written, and whose certificates Chrome takes."""

from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.reason_kinds import ReasonKind
from harness.replay.authority import AUTHORITY, open_authority
from tests.support.finished import Finished, measured
from tests.support.har_schema import assert_har
from tests.support.plotted import plot
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import ran
from tests.support.recording import MadeRecording

RTT_MS = 50
HTML = (("Content-Type", "text/html"), ("Cache-Control", "max-age=600"))
ICON = '<link rel="icon" href="data:,">'
URL = "https://www.nytimes.com/"


def record(directory: Path) -> Path:
    """Record a redirect from http to a page of https, whose frames are a chain of hosts: HTTP/2, HTTP/1.1, HTTP/2."""
    recorded = MadeRecording(directory, "small")

    def page(url: str, inner: str, version: str, *more: tuple[str, str]) -> None:
        frame = f'<iframe src="{inner}"></iframe>' if inner else ""
        body = f'<!doctype html>{ICON}<link rel="stylesheet" href="/s.css"><p>{url}</p>{frame}'
        recorded.add(url, body.encode(), (*HTML, *more), version=version)
        recorded.add(f"{url}s.css", b"p { color: green }", "text/css", version=version)

    recorded.add("http://www.nytimes.com/", status=301, headers=(("Location", URL),), version="http/1.1")
    page(URL, "https://two.test/", "h2", ("Content-Security-Policy", "script-src 'none'"))
    page("https://two.test/", "https://three.test/", "http/1.1")
    page("https://three.test/", "", "h2")
    return recorded.finish("http://www.nytimes.com/")


@pytest.mark.root
@pytest.mark.chrome
def test_each_connection_of_http_and_https_carries_data_in_its_syn(tmp_path: Path) -> None:
    """Four in a row: http, then three of https. What each saves over TLS test_compare_transports.py measures."""
    found = measured(record(tmp_path), "--delaynet", RTT_MS // 2)
    assert (found.base / "hack_dns").read_text().count(" 8001 https\n") == 3
    for tfo in (0, 1):
        load, requests = found.load(tfo), found.requests(tfo)
        assert load.answers is not None
        assert (load.valid, load.requests, load.answers.missing, load.connections_with_request) == (True, 7, 0, 4)
        assert load.syn_data_connections == load.counters["servers"]["TCPFastOpenPassive"] == 4 * tfo
        spoken = {(request.host, request.scheme, request.protocol) for request in requests}
        assert spoken == {("www.nytimes.com", "http", "HTTP/1.0"), ("www.nytimes.com", "https", "h2"),
                          ("two.test", "https", "HTTP/1.1"), ("three.test", "https", "h2")}
        per_connection = {(request.host, request.connection): request.scheme for request in requests}
        assert list(per_connection.values()).count("https") == 2 * 3, "both requests to a host share its connection"
    assert_table(found)
    for path in found.client.glob("*/*.har"):
        entries = assert_har(path)["entries"]
        assert [entry["response"]["httpVersion"] for entry in entries].count("h2") == 4
        assert {entry["connection"] for entry in entries if entry["request"]["httpVersion"] == "HTTP/1.1"}
    environment = found.load(1).environment
    assert environment is not None
    argv = " ".join(environment.argv or ())
    assert f"--ignore-certificate-errors-spki-list={open_authority(AUTHORITY).fingerprint}" in argv
    assert "--ignore-certificate-errors " not in f"{argv} "


def assert_table(found: Finished) -> None:
    done = plot(found.base, "--clientdir", found.client, "--outputdir", found.base / "figures")
    rtt, off, on, improvement = done.stdout.splitlines()[2].strip().split("\t")
    assert rtt == f"{RTT_MS}"
    assert (float(off) - float(on)) * 1000 == pytest.approx(found.saved_ms, abs=1)
    assert float(improvement.rstrip("%")) == pytest.approx((1 - float(on) / float(off)) * 100, abs=0.1)


@pytest.mark.root
@pytest.mark.chrome
def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    """The servers' certificates are made by one authority, Chrome is told another one's fingerprint."""
    found = Finished(record(tmp_path / "base"), "")
    open_authority(tmp_path / "other")
    ran(*LATE_PYTHON, ROOT / "tests" / "support" / "spoiled_experiment.py", f"authority={tmp_path / 'other'}",
        "--dir", found.base, "--name", "small", "--testruns", "2", "--tfo", "1", "--delaynet", "5", "--retries", "0",
        status=1)
    for load in found.loads:
        assert load.failed_requests == {"net::ERR_CERT_AUTHORITY_INVALID": 1}
        assert ReasonKind.BROWSER in load.why_not_kinds, "Chrome shows an error page"
    assert not any(request.scheme == "https" for request in found.requests(tfo=1))
