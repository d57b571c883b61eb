"""Which connection carried which request over HTTP/2: Chrome's net-log against nginx's own count."""

import tempfile
import time
from pathlib import Path

import pytest

from harness.files.hosts import read_hack_dns, resolver_rules
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.page import exchanges
from harness.replay.authority import fingerprint
from tests.corpus.netlogs import record
from tests.support.internet.server import Internet, serve
from tests.support.internet.site import MODERN

SETTLED_S = 20.0
ASKING = """for (const how of [false, true]) { const asked = new XMLHttpRequest();
                asked.open("GET", `/modern?async=${how}`, how); asked.send(); }
            fetch("/modern?fetched", {priority: "high"});"""


def load(internet: Internet, url: str, log: Path) -> NetLog:
    """Load `url` in a fresh Chrome, have it ask for more, wait until the server's log stands still."""
    trusted = f"--ignore-certificate-errors-spki-list={fingerprint(internet.ca.read_bytes())}"
    remap = resolver_rules(read_hack_dns(internet.remap))
    with record.browser(remap, log, log.with_name("profile"), trusted) as driver:
        driver.get(url)
        driver.execute_script(ASKING)
        seen, since, end = -1, 0.0, time.monotonic() + SETTLED_S
        while time.monotonic() < end and (len(internet.requests()) != seen or time.monotonic() < since + 1):
            if len(internet.requests()) != seen:
                seen, since = len(internet.requests()), time.monotonic()
            time.sleep(0.05)
    return read_netlog(log)


@pytest.mark.chrome
def test_each_request_is_credited_to_the_connection_that_carried_it() -> None:
    """The page asks a server twice at once before it is known to speak HTTP/2: two sockets, one may stay idle.

    WebSockets' handshakes are requests, too. For one request the page stands still.
    """
    with serve() as internet, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        netlog = load(internet, MODERN, Path(folder) / "netlog.json")
        credited = [connection.requests for connection in netlog.connections if connection.requests]
        assert sorted(credited + [1] * netlog.left_out["wss:"]) == internet.requests_per_connection()
    over_http2 = [transaction.connection is not None for transaction in netlog.transactions
                  if transaction.sends and transaction.request_headers[0][0].startswith(":")]
    assert over_http2
    assert all(over_http2)
    assert {f"{MODERN}?async=true", f"{MODERN}?fetched"} < {each.url for each in netlog.transactions}
    assert [each.request.url for each in exchanges(netlog, 0) if each.synchronous] == [f"{MODERN}?async=false"]
