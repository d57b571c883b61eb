"""What a load leaves behind, by its net-log and what Chrome's side reports of it: ``netlogs/loads.jsonl``.

A line has the `netlog` (a scene of test_netlogs.py, or one made for this in ``netlogs/made``), the `report`, or what of
a scene's own is otherwise, and the `figures`; times in ms. An error page has no page load time, and what came after the
load is cut.
"""

import gzip
import json
import re
from pathlib import Path

from harness.files.exchange import UNFINISHED
from harness.files.har_entry import from_har
from harness.files.text_log import read_log
from harness.measure.client_log import write_client_log
from harness.netlog.load import read_netlog
from tests.support.noted import JsonObject, of_lines

NETLOGS = Path(__file__).parent / "netlogs"
PAGE = "httpa.test"
KEPT = ("plt_ms", "last_ms", "first_byte_ms", "dom_content_loaded_ms", "document", "requests", "failed_requests",
        "bytes", "preconnects_unused", "left_out")


def report_of_scene(scene: str) -> JsonObject:
    """Return what load_page.py reports of a whole load, from the navigation timing recorded with the net-log."""
    timing: dict[str, float] = json.loads((NETLOGS / f"{scene}.served.json").read_text())["timing"]
    origin_ms = timing["navigationStart"]
    entry = {name: timing[name] - origin_ms if timing[name] else 0
             for name in ("fetchStart", "responseStart", "domContentLoadedEventEnd", "loadEventEnd")}
    return {"url": "http://a.test/", "time_origin_ms": origin_ms, "now_ms": 60_000.0, "document_uri": "http://a.test/",
            "timing": entry}


@of_lines("corpus/netlogs/loads.jsonl")
def test_figures_log_and_har_of_a_load(case: JsonObject, tmp_path: Path) -> JsonObject:
    name, report, netlog = case["netlog"], case["report"], tmp_path / "netlog.json"
    if (scene := NETLOGS / f"{name}.json.gz").exists():
        netlog.write_bytes(gzip.decompress(scene.read_bytes()))
        report = report_of_scene(name) | report
    else:
        netlog = NETLOGS / "made" / f"{name}.json"
    written = write_client_log(tmp_path, PAGE, read_netlog(netlog), report)
    figures = {key: round(value, 3) if isinstance(value := written[key], float) else value for key in KEPT}
    log, har = read_log(tmp_path / PAGE), json.loads((tmp_path / f"{PAGE}.har").read_text())["log"]
    assert log.problems == []
    assert len(har["entries"]) == figures["requests"]
    unfinished = sum(from_har(entry).error == UNFINISHED for entry in har["entries"])
    assert len(log.transactions) + unfinished == figures["requests"]
    ends = [each.end_ms for each in log.transactions]
    names = re.findall(r"\| +-?\d+ \| (\S+) -> ", (tmp_path / PAGE).read_text())
    assert ends == sorted(ends), "in order of completion"
    assert not ends or ends[-1] <= figures["last_ms"] + 0.001
    assert len(names) == len(set(names)), "the first look-up of each name"
    assert {page["pageTimings"].get("onLoad") for page in har["pages"]} <= {figures["plt_ms"] or 0, None, -1}
    return {"figures": figures}
