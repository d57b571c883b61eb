"""Which connection carried which request over HTTP/2: Chrome's net-log against nginx's own count."""

import tempfile
import time
from pathlib import Path

import pytest

from harness.files.hosts import read_hack_dns, resolver_rules
from harness.netlog.load import NetLog, read_netlog
from harness.netlog.page import har
from harness.replay.authority import fingerprint
from tests.corpus.netlogs import record
from tests.support.internet.server import Internet, serve
from tests.support.internet.site import MODERN

SETTLED_S = 20.0
LOADS = 3


def load(internet: Internet, url: str, script: str = "") -> NetLog:
    """Load `url` in a fresh Chrome, run `script`, wait until the server's log stands still; return the net-log."""
    trusted = f"--ignore-certificate-errors-spki-list={fingerprint(internet.ca.read_bytes())}"
    with tempfile.TemporaryDirectory(prefix="tfo-lab-test-", ignore_cleanup_errors=True) as name:
        log = Path(name) / "netlog.json"
        with record.browser(resolver_rules(read_hack_dns(internet.remap)), log, Path(name) / "profile",
                            trusted) as driver:
            driver.get(url)
            driver.execute_script(script)
            seen, since, end = -1, 0.0, time.monotonic() + SETTLED_S
            while time.monotonic() < end and (len(internet.requests()) != seen or time.monotonic() < since + 1):
                if len(internet.requests()) != seen:
                    seen, since = len(internet.requests()), time.monotonic()
                time.sleep(0.05)
        return read_netlog(log)


def credited(netlog: NetLog) -> list[int]:
    """How many requests `netlog` says each connection carried, WebSockets' handshakes included, in ascending order."""
    return sorted([connection.requests for connection in netlog.connections if connection.requests]
                  + [1] * netlog.left_out["wss:"])


@pytest.mark.chrome
def test_each_request_is_credited_to_the_connection_that_carried_it() -> None:
    """The page asks a server twice at once before it is known to speak HTTP/2: two sockets, one may stay idle."""
    for _ in range(LOADS):
        with serve() as internet:
            netlog = load(internet, MODERN)
            assert credited(netlog) == internet.requests_per_connection()
        over_http2 = [transaction for transaction in netlog.transactions
                      if transaction.sends and transaction.request_headers[0][0].startswith(":")]
        assert over_http2
        assert all(transaction.connection is not None for transaction in over_http2)


@pytest.mark.chrome
def test_what_the_page_stood_still_for_is_known() -> None:
    asking = """for (const how of [false, true]) { const asked = new XMLHttpRequest();
                    asked.open("GET", `/modern?async=${how}`, how); asked.send(); }
                fetch("/modern?fetched", {priority: "high"});"""
    with serve() as internet:
        netlog = load(internet, MODERN, asking)
    asked = {transaction.url for transaction in netlog.transactions}
    assert {f"{MODERN}?async=true", f"{MODERN}?fetched"} < asked
    assert [transaction.url for transaction in netlog.transactions if transaction.synchronous] == [
        f"{MODERN}?async=false"]
    entries = har(netlog, MODERN, 0)["log"]["entries"]
    assert [entry["request"]["url"] for entry in entries if entry.get("_synchronous")] == [f"{MODERN}?async=false"]
