"""Over HTTP/3, of our own replay servers: two hosts, twenty pictures, a redirect, a POST, a WebSocket over TCP; twice,
the second time with early data, since all connections are closed in between.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome

from harness.replay.authority import open_authority
from tests.corpus.pages.site import page, picture
from tests.support.recording import MadeRecording
from tests.support.replay_process import free_port, running

FIRST, SECOND, PICTURES = "first.example", "second.example", 10
BODY = "".join(f"<img src=https://{host}/{number}.svg>" for host in (FIRST, SECOND) for number in range(PICTURES)) + \
    """<img src=/moved.svg><script>(async () => {
const sent = await fetch('/form.json', {method: 'POST', body: 'one'}); await sent.text();
new WebSocket('wss://' + location.host + '/socket').onerror = () => { document.title = 'done'; }; })()</script>"""


@contextmanager
def served(directory: Path) -> Iterator[None]:
    """Run the servers; `remap` is in `directory`."""
    recorded = MadeRecording(directory)
    svg = (("Content-Type", "image/svg+xml"), ("Cache-Control", "no-store"))
    recorded.add(f"https://{FIRST}/", page("streams", BODY).encode(), "text/html")
    for host in (FIRST, SECOND):
        for number in range(PICTURES):
            recorded.add(f"https://{host}/{number}.svg", picture(2000 if number % 2 else 20_000).encode(), svg)
    recorded.add(f"https://{FIRST}/moved.svg", status=302, headers=(("Location", f"https://{SECOND}/there.svg"),))
    recorded.add(f"https://{SECOND}/there.svg", picture(500).encode(), svg)
    recorded.add(f"https://{FIRST}/form.json", b'{"form": 1}', "application/json", method="POST")
    recorded.finish(f"https://{FIRST}/")
    port, hosts = free_port(), {FIRST: "127.0.0.1", SECOND: "127.0.0.2"}
    (directory / "hosts").write_text("".join(f"{host} {address} -\n" for host, address in hosts.items()))
    (directory / "remap").write_text("".join(f"{host} {address} {port} https\n" for host, address in hosts.items()))
    with running(directory, "--hosts", directory / "hosts", "--authority", directory / "authority", "--http", "h3",
                 "--tls-port", str(port)):
        yield


def flags(directory: Path) -> list[str]:
    """Return what Chrome is started with besides the usual."""
    key = open_authority(directory / "authority").fingerprint
    return [f"--origin-to-force-quic-on={FIRST}:443,{SECOND}:443", f"--ignore-certificate-errors-spki-list={key}"]


def again(driver: Chrome) -> None:
    """Close all connections and visit the page once more."""
    address, ours = driver.current_url, driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get("chrome://net-internals/#sockets")
    while not driver.execute_script("return typeof chrome.send === 'function'"):
        time.sleep(0.1)
    driver.execute_script("chrome.send('flushSocketPools')")
    time.sleep(0.3)     # nothing tells when they are closed
    driver.close()
    driver.switch_to.window(ours)
    driver.get(address)
