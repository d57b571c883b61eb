"""Shapes of pages, and pages made of them.

- ``shapes.jsonl``: two loads of a page (`near` without delay, `far` over a round trip; timeline_of) beside
  its `shape`, the lines of the page-shape file;
- ``made_pages.jsonl``: the `resources` of a shape (what differs from RESOURCE) beside what the made page `has` in each
  body, in this order, what it `lacks`, and `at` which place of its document something stands, from and to. {1} is the
  URL of resource 1.
"""


from harness.synthetic.build import make_page_set
from harness.synthetic.measured import make_shape
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.shape import PageShape, Resource, format_shapes
from tests.support.made_har import PAGE, timeline_of
from tests.support.noted import JsonObject, each_case, of_lines

RESOURCE = {"host": "a.test", "scheme": "http", "mime": None, "charset": None, "size_bytes": 500, "path_chars": 9,
            "parent": 0, "redirect_to": None, "start_ms": 0}


@of_lines("corpus/shapes.jsonl")
def test_its_shape_is_the_one_beside_it(case: JsonObject) -> JsonObject:
    shape = make_shape(PAGE, "2026-11", timeline_of(case["near"]), timeline_of(case["far"]),
                       texts=case.get("texts", {}), loading_ms=case.get("loading_ms"))
    return {"shape": [line for line in format_shapes([shape]).splitlines() if line[0] not in "#f"]}


@each_case("corpus/made_pages.jsonl")
def test_a_made_page_has_what_stands_beside_its_shape(case: JsonObject) -> None:
    first, *others = case["resources"]
    shape = PageShape(case.get("url", "http://a.test/"), case.get("month", "2013-03"), [
        Resource(**{**RESOURCE, "index": 0, "parent": None, "path_chars": 1} | first),
        *(Resource(**{**RESOURCE, "index": index} | other) for index, other in enumerate(others, start=1))],
        case.get("work_ms", 0))
    made, = make_page_set([shape], seed=1)
    bodies = {str(index): body.decode("latin-1") for index, body in made.bodies.items()}
    for index, texts in case.get("has", {}).items():
        places = [bodies[index].index(text.format(*made.urls)) for text in texts]
        assert places == sorted(places)
    for index, texts in case.get("lacks", {}).items():
        assert [text for text in texts if text.format(*made.urls) in bodies[index]] == []
    for text, (least, most) in case.get("at", {}).items():
        assert least <= bodies["0"].index(text.format(*made.urls)) <= most
    for node in made.plan.nodes:
        if node.kind is not NodeKind.DOCUMENT and not node.no_content:
            assert len(made.bodies[node.final]) == shape.resources[node.final].size_bytes
