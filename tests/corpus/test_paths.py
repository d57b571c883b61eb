"""Loads drawn on paper beside their critical paths: ``paths.jsonl``, a load a line (tests/support/made_har.py).

`what` holds of the load, and `why` where that is not plain. `path` is the critical path, `saved_ms` what TFO saves at
an RTT of 100 ms, by the circumstances: "", or the `link` that transfers share in Mbit/s ("/all": one for all servers).
"""


from harness.analysis.causes import dependencies
from harness.analysis.explanation import critical_path
from harness.analysis.what_if import Circumstances, SharedLink, saved_ms
from tests.support.made_har import timeline_of
from tests.support.noted import JsonObject, of_lines


def circumstances(words: str) -> Circumstances:
    mbit, _, shared = words.removeprefix("link=").partition("/")
    return Circumstances(100, link=SharedLink(float(mbit), by_all=bool(shared)) if mbit else None)


@of_lines("corpus/paths.jsonl")
def test_its_path_and_what_tfo_saves_are_those_beside_it(case: JsonObject) -> JsonObject:
    timeline = timeline_of(case)
    graph = dependencies(timeline)
    return {"path": [f"{step.kind} {step.start_ms:g}-{step.end_ms:g} {step.url}"
                     for step in critical_path(timeline, graph)],
            "saved_ms": {words: round(saved_ms(timeline, graph, circumstances(words)), 3)
                         for words in case["saved_ms"]}}
