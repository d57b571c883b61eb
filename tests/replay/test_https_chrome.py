"""What Chrome makes of a replay over TLS: the injected script runs under any CSP, caching and preloading work."""

from pathlib import Path

import pytest

from harness.files.hosts import Remap, resolver_rules
from harness.replay.authority import open_authority
from tests.support.own_chrome import answer_of
from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import running

INSTANT_MS = 1_363_348_800_000
"""2013-03-15 12:00 UTC, the time that the injected script shows."""
CHROME = """
rules, trusted_key, *urls = words
driver = start(browser, ChromeSettings(Path(work_dir), rules, trusted_key=trusted_key))
try:
    seen = []
    for url in urls:
        driver.get(url)
        seen.append(driver.execute_script(
            "return [location.href, Date.now(), typeof ownScriptRan, document.cookie,"
            "getComputedStyle(document.body).color]"))
    print(json.dumps(seen))
finally:
    end(driver)
"""


@pytest.mark.chrome
def test_csp_cookies_cache_and_preload(tmp_path: Path) -> None:
    recorded = MadeRecording(tmp_path)
    document = b'<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="/s.css"><body>' \
               b"<script>var ownScriptRan = true</script>"
    html = (("Content-Type", "text/html"), ("Set-Cookie", "seen=1; Expires=Sat, 21 Nov 2026 10:00:00 GMT"),
            ("Date", "Sat, 21 Nov 2026 09:00:00 GMT"), ("Strict-Transport-Security", "max-age=99999"))
    policy = ("Content-Security-Policy", "default-src 'none'; script-src 'none'; style-src 'self'")
    recorded.add(f"https://{HOST}/", document, (*html, ("Content-Security-Policy", "script-src 'none'")))
    recorded.add(f"https://{HOST}/strict", document, (*html, policy, ("Link", "</p.css>; rel=preload; as=style")))
    recorded.add(f"https://{HOST}/s.css", b"body { color: rgb(0, 128, 0) }", (
        ("Content-Type", "text/css"), ("Cache-Control", "max-age=600"), ("Date", "Sat, 21 Nov 2026 09:00:00 GMT")))
    recorded.add(f"https://{HOST}/p.css", b"p {}", "text/css")
    recorded.add(f"http://{HOST}/plain", document, "text/html")
    recorded.add(f"http://{HOST}/s.css", "body { color: rgb(0, 0, 255) }", "text/css")
    recorded.finish(f"https://{HOST}/")
    with running(tmp_path) as server:
        urls = [f"https://{HOST}/", f"https://{HOST}/strict", f"http://{HOST}/plain"]
        rules = resolver_rules([Remap(HOST, "127.0.0.1", server.port),
                                Remap(HOST, "127.0.0.1", server.tls_port, "https")])
        seen = answer_of(CHROME, rules, open_authority(tmp_path / "authority").fingerprint, *urls)
        asked = [(line.scheme, line.path) for line in server.log() if line.found != "silent"]
    assert [url for url, *_ in seen] == urls, "Strict-Transport-Security is not replayed: http stays http"
    assert all(0 <= now - INSTANT_MS < 1000 for _, now, *_ in seen), "the injected script runs under any CSP"
    assert [ran for _, _, ran, *_ in seen] == ["undefined", "undefined", "boolean"], "the page's own does not"
    assert seen[0][3] == "seen=1"
    assert [color for *_, color in seen] == ["rgb(0, 128, 0)", "rgb(0, 128, 0)", "rgb(0, 0, 255)"]
    assert asked.count(("https", "/s.css")) == 1, "the second page has it from the cache"
    assert asked.count(("https", "/p.css")) == 1, "the preload was replayed"
    assert server.process.returncode == 0
