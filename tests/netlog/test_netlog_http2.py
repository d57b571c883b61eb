"""Which connection carried which request over HTTP/2: Chrome's net-log against nginx's own count."""

from pathlib import Path

import pytest

from harness.files.hosts import read_hack_dns, resolver_rules
from harness.netlog.load import read_netlog
from harness.netlog.page import exchanges
from harness.replay.authority import fingerprint
from tests.support.internet.server import serve
from tests.support.internet.site import MODERN
from tests.support.own_chrome import answer_of

ASKING = """for (const how of [false, true]) { const asked = new XMLHttpRequest();
                asked.open("GET", `/modern?async=${how}`, how); asked.send(); }
            fetch("/modern?fetched", {priority: "high"});"""
LOAD = """
import time
rules, key, url, asking, access_log = words
how = ChromeSettings(Path(work_dir), rules, predict=True, trusted_key=key)
driver = start(browser, how)
driver.get(url)
driver.execute_script(asking)
seen, since_s = -1, time.monotonic()
while time.monotonic() < since_s + 1:       # until the server's log stands still
    if (size := Path(access_log).stat().st_size) != seen:
        seen, since_s = size, time.monotonic()
    time.sleep(0.05)
end(driver)
print(json.dumps(how.net_log.read_text()))
"""


@pytest.mark.chrome
def test_each_request_is_credited_to_the_connection_that_carried_it(tmp_path: Path) -> None:
    """The page asks a server twice at once before it is known to speak HTTP/2: two sockets, one may stay idle.

    WebSockets' handshakes are requests, too. For one request the page stands still.
    """
    log = tmp_path / "netlog.json"
    with serve() as internet:
        log.write_text(answer_of(LOAD, resolver_rules(read_hack_dns(internet.remap)),
                                 fingerprint(internet.ca.read_bytes()), MODERN, ASKING,
                                 str(internet.directory / "access.log")))
        carried = internet.requests_per_connection()
    netlog = read_netlog(log)
    credited = [connection.requests for connection in netlog.connections if connection.requests]
    assert sorted(credited + [1] * netlog.left_out["wss:"]) == carried
    over_http2 = [transaction.connection is not None for transaction in netlog.transactions
                  if transaction.sends and transaction.request_headers[0][0].startswith(":")]
    assert over_http2
    assert all(over_http2)
    assert {f"{MODERN}?async=true", f"{MODERN}?fetched"} < {each.url for each in netlog.transactions}
    assert [each.request.url for each in exchanges(netlog, 0) if each.synchronous] == [f"{MODERN}?async=false"]
