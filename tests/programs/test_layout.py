"""Host names that share a server: fewer addresses and fewer cookies, over HTTP/2 fewer connections, the same page."""

import json
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.files.experiment import experiment_file, read_experiment
from harness.files.hack_dns import read_hack_dns
from harness.files.load_record import LoadRecord
from harness.files.results import read_results
from harness.files.server_log import read_server_logs
from tests.support.explained_pages import chain_of, document, inserting
from tests.support.https_recording import HttpsRecording
from tests.support.plotted import plot
from tests.support.project_copy import experiment

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
CHAIN = ("http://www.one.test/", "http://a.one.test/1.js", "http://two.test/2.js", "http://a.one.test/3.js",
         "http://two.test/4.js")
"""Three hosts of two domains."""
DELAY_MS = 100


def measure(base: Path, *options: str) -> list[LoadRecord]:
    """Measure the pages in `base`; return the records of the loads that count, those without TFO first."""
    experiment(base, "--delaynet", DELAY_MS, "--testruns", "2", *options)
    loads = [load.record for load in read_results(base / "client").loads if load.run and load.record]
    return sorted(loads, key=lambda record: record.tfo)


def secure_chain(base: Path) -> Path:
    """Record a chain of four hosts over HTTP/2, of which the last two had one address."""
    recorded = HttpsRecording(base, "small")
    urls = ("https://www.one.test/", "https://a.one.test/1.js", "https://two.test/2.js", "https://three.test/3.js")
    addresses = ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.3")
    for url, following, address in zip(urls, [*urls[1:], None], addresses, strict=True):
        body, kind = inserting(following) if following else "/* the end */", "text/javascript"
        if url == urls[0]:
            body, kind = document(f"<script src={following}></script>"), "text/html"
        recorded.add(url, body.encode(), (("Content-Type", kind),), serverIPAddress=address)
    return recorded.finish(urls[0])


def addresses(records: Iterable[LoadRecord]) -> set[str]:
    return {connection.address.rpartition(":")[0] for record in records for connection in record.connections or ()}


def connection_of_each_host(base: Path) -> dict[str, set[str]]:
    """Return over which connections each host was asked in the measured load with TFO, by its HAR."""
    [har] = (base / "client" / f"{DELAY_MS}-1-tfo-1").glob("*.har")
    found: dict[str, set[str]] = {}
    for entry in json.loads(har.read_text())["log"]["entries"]:
        found.setdefault(urlsplit(entry["request"]["url"]).hostname or "", set()).add(entry["connection"])
    return found


def test_a_domain_has_one_server_and_every_host_its_log(tmp_path: Path) -> None:
    base = chain_of(tmp_path, *CHAIN)
    [record] = measure(base, "--layout", "domain", "--tfo", "1")
    assert {remap.host: remap.address for remap in read_hack_dns(base / "hack_dns")} == {
        "a.one.test": "10.0.0.2", "www.one.test": "10.0.0.2", "two.test": "10.0.0.3"}
    assert addresses([record]) == {"10.0.0.2", "10.0.0.3"}
    assert record.connections_with_request == record.syn_data_connections == len(CHAIN)
    assert record.counters["servers"]["TCPFastOpenPassive"] == len(CHAIN)
    requests = [request for request in read_server_logs(base / "serverlogs" / f"{DELAY_MS}-tfo-1")
                if request.found != "silent"]
    assert {request.host for request in requests} == {"a.one.test", "www.one.test", "two.test"}
    assert {request.found for request in requests} == {"plain"}
    described = read_experiment(experiment_file(base / "client", DELAY_MS))
    assert described.layout.startswith("domain: 3 host names on 2 servers (")
    assert described.settings["shared_servers"] == {"one.test": ["a.one.test", "www.one.test"]}
    assert [*described.settings["measured_rtt_ms"]] == ["one.test", "two.test"]
    table = plot(base, "--clientdir", base / "client", "--outputdir", base / "out").stdout
    assert "--layout domain" in table
    other = experiment(base, "--delaynet", DELAY_MS, "--resume", "--layout", "one", "--testruns", "2", "--tfo", "1",
                       status=2)
    assert "--resume: layout was 'domain: 3 host names on 2" in other.stderr


def test_over_http2_hosts_of_a_server_share_a_connection(tmp_path: Path) -> None:
    """By address and certificate, as Chrome coalesces.

    But not what belongs to the page's own site with what does not: where Chrome gives other sites no cookies, it keeps
    their connections apart, too (its privacy mode).
    """
    base = secure_chain(tmp_path)
    [record] = measure(base, "--layout", "one", "--tfo", "1")
    of_host = connection_of_each_host(base)
    assert addresses([record]) == {"10.0.0.2"}
    assert of_host["www.one.test"] == of_host["a.one.test"]
    assert of_host["two.test"] == of_host["three.test"]
    used = set[str]().union(*of_host.values())
    assert len(used) == record.connections_with_request == record.syn_data_connections == len(record.connections or ())
    assert len(used) <= 2 < len(of_host)
