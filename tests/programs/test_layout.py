"""Host names that share a server: fewer addresses and fewer cookies, over HTTP/2 fewer connections, the same page."""

import pytest

from harness.files.experiment import experiment_file, read_experiment
from harness.files.har import read_har
from harness.files.hosts import read_hack_dns
from tests.support.finished import Finished, measured
from tests.support.forked import plot
from tests.support.recording import chain_of_scripts

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
CHAIN = ("http://www.one.test/", "http://a.one.test/1.js", "http://two.test/2.js", "http://a.one.test/3.js",
         "http://two.test/4.js")
"""Over HTTP/1.0 a connection for each."""
SECURE = ("https://www.one.test/5.js", "https://a.one.test/6.js", "https://two.test/7.js", "https://b.two.test/8.js")
"""Four hosts of two domains, over HTTP/2."""
DELAY_MS = 100


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    base = chain_of_scripts(tmp_path_factory.mktemp("layout"), *CHAIN, *SECURE, har=True)
    return measured(base, "--delaynet", DELAY_MS, "--tfo", "1", "--layout", "domain")


def test_a_domain_has_one_server_and_every_host_its_log(found: Finished) -> None:
    remaps = {remap.host: remap.address for remap in read_hack_dns(found.base / "hack_dns")}
    assert remaps == {"a.one.test": "10.0.0.2", "www.one.test": "10.0.0.2",
                      "b.two.test": "10.0.0.3", "two.test": "10.0.0.3"}
    assert {(request.host, request.found) for request in found.requests(tfo=1)} == {(host, "plain") for host in remaps}
    described = read_experiment(experiment_file(found.client, DELAY_MS))
    assert described.layout.startswith("domain: 4 host names on 2 servers (")
    assert described.settings["shared_servers"] == {"one.test": ["a.one.test", "www.one.test"],
                                                    "two.test": ["b.two.test", "two.test"]}
    assert [*described.settings["measured_rtt_ms"]] == ["one.test", "two.test"]
    assert "--layout domain" in plot(found.base, "--clientdir", found.client, "--outputdir", found.base / "out").stdout


def test_hosts_of_a_server_share_its_address_and_over_http2_a_connection(found: Finished) -> None:
    """By address and certificate, as Chrome coalesces.

    But not what belongs to the page's own site with what does not: where Chrome gives other sites no cookies, it keeps
    their connections apart, too (its privacy mode).
    """
    load = found.load(tfo=1)
    connections = {each.request.url: each.connection for result in found.results.loads if result.run
                   for each in read_har(result.har).exchanges}
    www_one, a_one, two, b_two = (connections[url] for url in SECURE)
    assert (www_one, two) == (a_one, b_two)
    assert {connection.address.rpartition(":")[0] for connection in load.connections or ()} == {"10.0.0.2", "10.0.0.3"}
    passive, used = load.counters["servers"]["TCPFastOpenPassive"], len(load.connections or ())
    assert used == load.connections_with_request == load.syn_data_connections == passive == len(CHAIN) + 2
