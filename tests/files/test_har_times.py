"""How long a TCP handshake took, by HARs of browsers that count TLS differently, and by what is none."""

from typing import Any

import pytest

from harness.files.har_form import handshake_ms

AROUND = {"blocked": 2, "dns": -1, "send": 0, "wait": 30, "receive": 8}
CHROME: dict[str, Any] = {"time": 100, "timings": {**AROUND, "connect": 60, "ssl": 40}}
FIREFOX: dict[str, Any] = {"time": 100, "timings": {**AROUND, "connect": 20, "ssl": 40}}


def without_tls(timings: dict[str, float]) -> dict[str, Any]:
    return {"timings": timings, "time": 50}


@pytest.mark.parametrize(("entry", "wanted_ms"), [
    (CHROME, 20), (FIREFOX, 20), ({**CHROME, "_connectMs": 18}, 18),
    ({**CHROME, "response": {"httpVersion": "h3"}}, 60),
    (without_tls({"connect": 25, "ssl": -1, "wait": 25}), 25), (without_tls({"connect": 25}), 25),
    (without_tls({"connect": -1, "ssl": -1}), None), ({}, None),
    ({"timings": {"connect": 10, "ssl": 40}}, 0)])
def test_the_handshake_is_the_connect_time_without_tls(entry: dict[str, Any], wanted_ms: float | None) -> None:
    protocol = entry.get("response", {}).get("httpVersion", "")
    assert handshake_ms(entry.get("_connectMs"), entry.get("timings", {}), entry.get("time"), protocol) == wanted_ms
