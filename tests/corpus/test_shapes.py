"""Shapes of pages, and pages made of them.

- ``shapes.jsonl``: two loads of a page (`near` without delay, `far` over a round trip; tests/support/rows.py) beside
  its `shape`, the lines of the page-shape file;
- ``har_shapes.jsonl``: the `entries` of a HAR without bodies (second, URL, type, size, Referer, and what else it says)
  beside the shapes of its pages;
- ``made_pages.jsonl``: the `resources` of a shape (what differs from RESOURCE) beside what the made page `has` in each
  body, in this order, what it `lacks`, and `at` which place of its document something stands, from and to. {1} is the
  URL of resource 1.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_shapes.py`` writes the shapes of HARs anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.record.sources.har import HarSource
from harness.synthetic.build import make_page_set
from harness.synthetic.from_har import shapes_of_har
from harness.synthetic.measured import LoadDetails, make_shape
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.shape import PageShape, Resource, format_shapes, read_shapes
from tests.support.made_har import PAGE
from tests.support.noted import assert_noted, cases
from tests.support.rows import timeline_of

RESOURCE = {"host": "a.test", "scheme": "http", "mime": None, "charset": None, "size_bytes": 500, "path_chars": 9,
            "parent": 0, "redirect_to": None, "start_ms": 0}


def lines(shapes: list[PageShape]) -> list[str]:
    return [line for line in format_shapes(shapes).splitlines() if line[0] not in "#f"]


@pytest.mark.parametrize("page", cases("shapes.jsonl"), ids=lambda page: page["what"])
def test_its_shape_is_the_one_beside_it(page: dict[str, Any]) -> None:
    details = LoadDetails(page.get("texts", {}), page.get("loading_ms"))
    shape = make_shape(PAGE, "2026-11", timeline_of(page["near"]), timeline_of(page["far"]), details)
    assert lines([shape]) == page["shape"]


def har_entry(second: float, url: str, mime_type: str, size: int, *more: Any) -> dict[str, Any]:
    """Return an entry of a HAR that others wrote; `more`: its Referer, and what else it says."""
    referer, said = more[0] if more else "", more[1] if len(more) > 1 else {}
    asked = [{"name": "Referer", "value": referer}] if referer else []
    made = {"pageref": said.get("page", "p1"), "time": 100, "_protocol": said.get("protocol"),
            "startedDateTime": said.get("date", f"2016-01-19T06:46:{second:06.3f}{said.get('zone', 'Z')}"),
            "timings": {"connect": -1, "ssl": -1},
            "request": {"method": said.get("method", "GET"), "url": url, "headers": asked},
            "response": {"status": said.get("status", 200), "statusText": "", "redirectURL": said.get("redirect", ""),
                         "headers": [{"name": "Content-Length", "value": str(size)}], "bodySize": -1,
                         "content": {"mimeType": mime_type, "size": -1}}}
    if "version" in said:
        made["response"]["httpVersion"] = said["version"]
    return made


HARS = cases("har_shapes.jsonl")


@pytest.mark.parametrize("har", HARS, ids=lambda har: har["what"])
def test_a_har_without_bodies_has_the_shapes_beside_it(har: dict[str, Any], tmp_path: Path) -> None:
    log: dict[str, Any] = {"entries": [har_entry(*entry) for entry in har["entries"]]}
    if "on_load_ms" in har:
        log["pages"] = [{"id": "p1", "startedDateTime": f"2016-01-19T06:46:00.000{har.get('zone', 'Z')}",
                         "pageTimings": {"onLoad": har["on_load_ms"]}}]
    (tmp_path / "x.har").write_text(json.dumps({"log": log}))
    source = HarSource(tmp_path / "x.har")
    shapes = shapes_of_har(list(source), source.pages)
    assert_noted(lines(shapes), "har_shapes.jsonl", HARS, har, "shape")
    if shapes:
        (tmp_path / "x.shape").write_text(format_shapes(shapes))
        assert read_shapes(tmp_path / "x.shape") == shapes
        assert all(page.bodies[page.plan.nodes[0].final] or not page.shape.resources[0].size_bytes
                   for page in make_page_set(shapes, 1))


@pytest.mark.parametrize("page", cases("made_pages.jsonl"), ids=lambda page: page["what"])
def test_a_made_page_has_what_stands_beside_its_shape(page: dict[str, Any]) -> None:
    first, *others = page["resources"]
    shape = PageShape(page.get("url", "http://a.test/"), page.get("month", "2013-03"), [
        Resource(**{**RESOURCE, "index": 0, "parent": None, "path_chars": 1} | first),
        *(Resource(**{**RESOURCE, "index": index} | other) for index, other in enumerate(others, start=1))],
        page.get("work_ms", 0))
    made, = make_page_set([shape], seed=1)
    bodies = {str(index): body.decode("latin-1") for index, body in made.bodies.items()}
    for index, texts in page.get("has", {}).items():
        places = [bodies[index].index(text.format(*made.urls)) for text in texts]
        assert places == sorted(places)
    for index, texts in page.get("lacks", {}).items():
        assert [text for text in texts if text.format(*made.urls) in bodies[index]] == []
    for text, (least, most) in page.get("at", {}).items():
        assert least <= bodies["0"].index(text.format(*made.urls)) <= most
    for node in made.plan.nodes:
        if node.kind is not NodeKind.DOCUMENT and not node.no_content:
            assert len(made.bodies[node.final]) == shape.resources[node.final].size_bytes
