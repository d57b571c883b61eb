"""Loads drawn on paper beside their critical paths: ``paths.jsonl``, a load a line (tests/support/made_har.py).

`what` holds of the load, and `why` where that is not plain. `path` is the critical path, `saved_ms` what TFO saves at
an RTT of 100 ms, by the circumstances: the `link` that transfers share in Mbit/s ("/all": one for all servers),
`small_client_hello`.
"""

from typing import Any

from harness.analysis.causes import dependencies
from harness.analysis.explanation import critical_path
from harness.analysis.what_if import Circumstances, SharedLink, saved_ms
from tests.support.made_har import timeline_of
from tests.support.noted import each_case


def settings_of(circumstances: str) -> dict[str, Any]:
    """Return the circumstances in words of their own: "link=4/all"."""
    found: dict[str, Any] = dict(each.split("=") for each in circumstances.split())
    if "small_client_hello" in found:
        found["small_client_hello"] = found["small_client_hello"] == "True"
    if "link" in found:
        mbit, _, shared = found["link"].partition("/")
        found["link"] = SharedLink(float(mbit), by_all=shared == "all")
    return found


@each_case("corpus/paths.jsonl")
def test_its_path_and_what_tfo_saves_are_those_beside_it(case: dict[str, Any]) -> None:
    timeline = timeline_of(case)
    graph = dependencies(timeline)
    assert [f"{step.kind} {step.start_ms:g}-{step.end_ms:g} {step.url}"
            for step in critical_path(timeline, graph)] == case["path"]
    assert {key: round(saved_ms(timeline, graph, Circumstances(100, **settings_of(key))), 3)
            for key in case["saved_ms"]} == case["saved_ms"]
