"""Which answers were late, and by how much: ``late_answers.jsonl``, a line for each thing that can happen. Times in ms.

Servers were `quiet`: [server, from, until]. Meanwhile packets of it may have `came`, and servers begun answers of their
`own` time: [server, begun, time]. `late` is [server, from, by, whether the page, whose critical `path` is [kind, from,
until, URL], waited for it].
"""


from harness.analysis.explanation import Step
from harness.files.hosts import EACH_ITS_OWN, Layout
from harness.measure.timekeeping import Answered, late_answers, nothing_came
from harness.netlog.silences import Silence
from tests.support.noted import JsonObject, of_lines

PATH = [Step("wait", 100, 260, "http://a.test/"), Step("cpu", 260, 1000, "http://b.test/x.js"),
        Step("receive", 1000, 2000, "http://b.test/y.js")]
ALLOWED_MS = {"a.test": 106.0, "b.test": 106.0}


@of_lines("corpus/late_answers.jsonl")
def test_what_is_late_is_noted_beside_it(case: JsonObject) -> JsonObject:
    quiet = [Silence(*silence) for silence in case["quiet"]]
    if "came" in case:
        quiet = [part for silence in quiet for part in nothing_came(silence, case["came"], case.get("plt_ms", 2000))]
    layout = Layout("one", case["layout"]) if "layout" in case else EACH_ITS_OWN
    late = late_answers(quiet, [Answered(*own) for own in case.get("own", ())], case.get("allowed", ALLOWED_MS),
                        PATH, layout)
    return {"late": [[each.host, round(each.start_ms, 3), round(each.late_ms, 3), each.critical] for each in late]}
