"""Chrome over HTTP/3: it trusts the authority, opens no TCP connection but for WebSockets, and comes back early."""

from pathlib import Path

import pytest

from harness.files.hosts import Remap, origins, resolver_rules
from harness.files.server_log import Early, ServerRequest
from harness.replay.authority import open_authority
from tests.support.https_recording import HttpsRecording
from tests.support.own_chrome import answer_of
from tests.support.replay_process import HOST, free_port, running

pytest.importorskip("aioquic", reason="Python 3.10 has no HTTP/3 (harness/replay/http3.py)")

PICTURES = 6
CHROME = """
rules, trusted_key, url, *origins = words
driver = start(browser, ChromeSettings(Path(work_dir), rules, trusted_key=trusted_key, quic_origins=tuple(origins)))
SPOKEN = "return performance.getEntries().filter(e => e.nextHopProtocol !== undefined).map(e => e.nextHopProtocol)"

def visit():
    driver.get(url)
    while driver.title != "done":
        pass
    return driver.execute_script(SPOKEN)

try:
    seen, ours = [visit()], driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get("chrome://net-internals/#sockets")
    while not driver.execute_script("return typeof chrome.send === 'function'"):
        pass
    driver.execute_script("chrome.send('flushSocketPools')")
    driver.close()
    driver.switch_to.window(ours)
    print(json.dumps([*seen, visit()]))
finally:
    end(driver)
"""


@pytest.mark.chrome
def test_a_page_and_its_second_visit(tmp_path: Path) -> None:
    recorded, uncached = HttpsRecording(tmp_path), ("Cache-Control", "no-store")
    body = "".join(f"<img src=/{number}.svg>" for number in range(PICTURES)) + f"""<script>onload = () => {{
        new WebSocket("wss://{HOST}/socket").onerror = () => {{ document.title = "done"; }}; }}</script>"""
    recorded.add(f"https://{HOST}/", b'<!doctype html><link rel="icon" href="data:,"><body>' + body.encode(),
                 (("Content-Type", "text/html"), uncached))
    for number in range(PICTURES):
        recorded.add(f"https://{HOST}/{number}.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>' + b" " * 5000,
                     (("Content-Type", "image/svg+xml"), uncached))
    recorded.finish(f"https://{HOST}/")
    port = free_port()
    remaps = [Remap(HOST, "127.0.0.1", port, "https")]
    with running(tmp_path, "--authority", tmp_path / "authority", "--tls-port", str(port), "--http", "h3") as server:
        spoken = answer_of(CHROME, resolver_rules(remaps), open_authority(tmp_path / "authority").fingerprint,
                           f"https://{HOST}/", *origins(remaps, "https"))
        lines = server.log()
    assert spoken == [["h3"] * (PICTURES + 1)] * 2
    asked: dict[int, list[ServerRequest]] = {}
    for line in lines:
        if line.found not in ("live", "silent"):
            asked.setdefault(line.connection, []).append(line)
    first, second = asked.values()
    assert [len(first), len(second)] == [PICTURES + 1] * 2
    assert {line.protocol for line in (*first, *second)} == {"h3"}
    assert {(line.early, line.resumed) for line in first} == {(Early.NO, False)}
    assert {line.resumed for line in second} == {True}
    assert (second[0].path, second[0].early) == ("/", Early.DATA)
    assert {line.protocol for line in lines if line.found == "live"} == {"HTTP/1.1"}
