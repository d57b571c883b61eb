"""Host names that share a server: fewer addresses and fewer cookies, over HTTP/2 fewer connections, the same page."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.files.experiment import experiment_file, read_experiment
from harness.files.hack_dns import read_hack_dns
from harness.files.load_record import LoadRecord
from harness.files.pages import sanitise
from tests.support.explained_pages import document, inserting
from tests.support.finished import Finished, measured
from tests.support.https_recording import HttpsRecording
from tests.support.plotted import plot

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
CHAIN = ("http://www.one.test/", "http://a.one.test/1.js", "http://two.test/2.js", "http://a.one.test/3.js",
         "http://two.test/4.js")
"""Three hosts of two domains; over HTTP/1.0 a connection for each."""
SECURE = ("https://www.one.test/s", "https://a.one.test/1.js", "https://two.test/2.js", "https://b.two.test/3.js")
"""Four hosts of two domains, over HTTP/2."""
DELAY_MS = 100


def record(base: Path) -> Path:
    """Record the two chains, a page each."""
    recorded = HttpsRecording(base, "small")
    for urls, version in ((CHAIN, "http/1.1"), (SECURE, "h2")):
        for url, following in zip(urls, [*urls[1:], None], strict=True):
            body, kind = inserting(following) if following else "/* the end */", "text/javascript"
            if url == urls[0]:
                body, kind = document(f"<script src={following}></script>"), "text/html"
            recorded.add(url, body.encode(), (("Content-Type", kind),), version=version)
    return recorded.finish(CHAIN[0], SECURE[0])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return measured(record(tmp_path_factory.mktemp("layout")), "--delaynet", DELAY_MS, "--tfo", "1",
                    "--layout", "domain")


def addresses(record: LoadRecord) -> set[str]:
    return {connection.address.rpartition(":")[0] for connection in record.connections or ()}


def test_a_domain_has_one_server_and_every_host_its_log(found: Finished) -> None:
    remaps = {remap.host: remap.address for remap in read_hack_dns(found.base / "hack_dns")}
    assert remaps == {"a.one.test": "10.0.0.2", "www.one.test": "10.0.0.2",
                      "b.two.test": "10.0.0.3", "two.test": "10.0.0.3"}
    load = found.load(tfo=1, url=CHAIN[0])
    assert addresses(load) == {"10.0.0.2", "10.0.0.3"}
    assert load.connections_with_request == load.syn_data_connections == len(CHAIN)
    assert load.counters["servers"]["TCPFastOpenPassive"] == len(CHAIN)
    assert {(request.host, request.found) for request in found.requests(tfo=1)} == {(host, "plain") for host in remaps}
    described = read_experiment(experiment_file(found.client, DELAY_MS))
    assert described.layout.startswith("domain: 4 host names on 2 servers (")
    assert described.settings["shared_servers"] == {"one.test": ["a.one.test", "www.one.test"],
                                                    "two.test": ["b.two.test", "two.test"]}
    assert [*described.settings["measured_rtt_ms"]] == ["one.test", "two.test"]
    assert "--layout domain" in plot(found.base, "--clientdir", found.client, "--outputdir", found.base / "out").stdout
    measured(found.base, "--delaynet", DELAY_MS, "--resume", "--layout", "one", "--tfo", "1", status=2)


def test_over_http2_hosts_of_a_server_share_a_connection(found: Finished) -> None:
    """By address and certificate, as Chrome coalesces.

    But not what belongs to the page's own site with what does not: where Chrome gives other sites no cookies, it keeps
    their connections apart, too (its privacy mode).
    """
    load, of_host = found.load(tfo=1, url=SECURE[0]), dict[str, set[str]]()
    har = found.client / f"{DELAY_MS}-1-tfo-1" / f"{sanitise(SECURE[0])}.har"
    for entry in json.loads(har.read_text())["log"]["entries"]:
        of_host.setdefault(urlsplit(entry["request"]["url"]).hostname or "", set()).add(entry["connection"])
    assert addresses(load) == {"10.0.0.2", "10.0.0.3"}
    assert of_host["www.one.test"] == of_host["a.one.test"]
    assert of_host["two.test"] == of_host["b.two.test"]
    used = set[str]().union(*of_host.values())
    assert len(used) == load.connections_with_request == load.syn_data_connections == len(load.connections or ()) == 2
