"""Page shapes: measured from two loads, written, read, refused; and pages made of them.

What made pages hold: tests/corpus/made_pages.jsonl.
"""

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.browser.devtools import initiators
from harness.errors import InputError
from harness.mirror.recording import read_recording
from harness.mirror.servers import read_rtts, write_rtts
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.measured import make_shape
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.places import document_texts
from harness.synthetic.shape import COLUMNS, HEADING, SHAPE_FILE, PageShape, Resource, format_shapes, read_shapes
from tests.support.made_har import PAGE, timeline_of
from tests.support.noted import cases
from tests.support.ran import ran
from tests.support.recording import MadeRecording

MADE = cases("shapes.jsonl")[0]
"""A script works for WORK_MS and asks for an image, whose arrival sets a timer that fetches data.

Beside it comes a style sheet that in the load without delay ends just before the image is asked for: by chance.
"""
WORK_MS, TIMER_MS, LAST_MS = 30, 400, 7
TEXT = MADE["texts"][PAGE]
NEAR, FAR = timeline_of(MADE["near"]), timeline_of(MADE["far"])
SHAPE = make_shape(PAGE, "2026-11", NEAR, timeline_of({**MADE["far"], "initiators": []}))
RESOURCE = Resource(0, "a.test", "http", "text/html", None, 5000, 1, None, None, 0, 9, "document")


def test_what_caused_what_is_what_both_loads_bear_out() -> None:
    assert [resource.parent for resource in SHAPE.resources] == [None, 0, 0, 2, 3]
    assert [(resource.work_ms, resource.idle_ms) for resource in SHAPE.resources[3:]] == [
        (WORK_MS, 0), (0, TIMER_MS - LAST_MS)]
    assert [resource.after_load for resource in SHAPE.resources] == [False] * 4 + [True], "the timer outlasts the event"
    assert SHAPE.work_ms == LAST_MS


def test_a_document_that_came_compressed_has_its_children_as_far_into_it(tmp_path: Path) -> None:
    """Nothing was known of its text, and all of its children stood at its beginning."""
    recorded = MadeRecording(tmp_path)
    recorded.add(PAGE, gzip.compress(TEXT.encode()), (("content-encoding", "gzip"),))
    recorded.finish(PAGE)
    texts = document_texts(FAR, read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog"), tmp_path / "Web")
    assert texts == {PAGE: TEXT}
    document = replace(FAR.requests[0], body_bytes=len(TEXT) // 2)
    told = make_shape(PAGE, "2026-11", NEAR, replace(FAR, requests=(document, *FAR.requests[1:])),
                      texts=texts, loading_ms=10_000)
    offset = TEXT.index("\n") + 1
    assert [(resource.way, resource.offset) for resource in told.resources[1:4]] == [
        (way, round((offset + column) * (len(TEXT) // 2) / len(TEXT)))
        for way, column in (("tag", 30), ("tag", 60), ("inline", 80))]


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("initiators.jsonl")), ids=lambda case: case["what"])
def test_what_chrome_says_of_requests_is_read(case: dict[str, Any]) -> None:
    """initiators.jsonl: events of DevTools, changes of priority, and what is known of each request from them."""
    told = zip(initiators(case["sent"], case.get("changed", [])), case["told"], strict=True)
    assert [{key: each[key] for key in wanted} for each, wanted in told] == case["told"]


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    silent = replace(NEAR, requests=tuple(replace(request, status=0) for request in NEAR.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)


def test_distances_that_somebody_wrote_down_stay(tmp_path: Path) -> None:
    path = tmp_path / "A.rtts"
    assert write_rtts(path, {"a.test": 30.0, "b.test": 1e9}, "x.har")
    assert read_rtts(path) == {"a.test": (2, 30.0)}
    assert not write_rtts(path, {"a.test": 40.0}, "y.har")
    assert not write_rtts(tmp_path / "B.rtts", {}, "x.har")
    assert [*tmp_path.iterdir()] == [path]


PAGE_LINE = "page\thttp://a.test/\t2026-11\t0"
ROW = dict(zip(COLUMNS, format_shapes([replace(SHAPE, resources=[RESOURCE])]).splitlines()[-1].split("\t"),
               strict=True))
"""The columns of a page's own document."""
SECOND = {**ROW, "index": "1", "parent": "0", "path_chars": "6", "kind": "image"}


def test_a_file_is_read_as_it_was_written() -> None:
    assert format_shapes(read_shapes()) == SHAPE_FILE.read_text(encoding="ascii")


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("refused_shapes.jsonl")), ids=str)
def test_a_line_that_cannot_be_right_is_refused_by_its_number(case: dict[str, Any], tmp_path: Path) -> None:
    """`document`, `image`: what is changed in the line of the page's own document, or of an image below it."""
    lines = case.get("lines") or [PAGE_LINE, *("\t".join({**row, **case.get(kind, {})}.values()) for kind, row in (
        ("document", ROW), ("image", SECOND))[:1 + ("image" in case)])]
    path = tmp_path / "page.shape"
    path.write_text("\n".join([*HEADING.splitlines(), "format\t5", *lines]) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:{case['at']}: "):
        read_shapes(path)


WHOLE = "\n".join([PAGE_LINE, "\t".join(ROW.values())])


@pytest.mark.parametrize("text", [None, "", f"format\t4\n{WHOLE}", "format\t6\n", WHOLE])
def test_another_format_and_a_missing_file_are_refused(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "page.shape").write_text(text)
    with pytest.raises(InputError, match=r"page\.shape:1: "):
        read_shapes(tmp_path / "page.shape")


def test_a_page_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(format_shapes([SHAPE]))
    (tmp_path / "Set.pages").write_text("http://elsewhere.test/\n")
    with pytest.raises(InputError, match=r"Set\.pages:1: "):
        make_pages(tmp_path, "Set", 1, tmp_path / "page.shape")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Set.pages", "page.shape"], "nothing is half made"


def test_pages_are_made_of_whatever_a_page_may_hold(tmp_path: Path) -> None:
    """Types of today, no type, no body, https, short paths that were asked for again, a frame at the site's root."""
    odd = [("image", "image/webp", 900), ("image", "image/svg+xml", 20), ("font", "font/woff2", 4000),
           ("data", None, 0), ("script", "text/html", 0), ("media", "video/mp4", 7000), ("style", "text/plain", 30),
           ("image", "text/html", 9), ("document", "text/html", 40), ("document", "text/html", 4000),
           ("script", None, 50), ("data", None, 7)]
    resources = [RESOURCE]
    for kind, mime, size_bytes in odd:
        for path_chars in (1, 2, 90):
            number = len(resources)
            resources.append(Resource(number, "a.test", "https" if number % 2 else "http", mime, None, size_bytes,
                                      path_chars, max(0, number - 4), None, number, number + 1, kind, 1, number % 3,
                                      number % 5 == 0))
    path = tmp_path / "odd.shape"
    path.write_text(format_shapes([PageShape("http://a.test/", "2026-11", resources)]))
    ran(sys.executable, ROOT / "scripts" / "make_pages.py", "--name", "Odd", "--shape", path, "--directory", tmp_path,
        status=0)
    assert (tmp_path / "Odd.pages").read_text() == "http://a.test/\n"
    assert json.loads((tmp_path / "Odd.fetchlog" / "manifest.json").read_text())["note"].count("odd.shape") == 1
    recording = read_recording(tmp_path / "Odd", tmp_path / "Odd.fetchlog")
    assert recording.hosts() == ["a.test"]
    page, = make_page_set(read_shapes(path), seed=1)
    assert len(set(page.urls)) == len(resources)
    assert {url.partition(":")[0] for url in page.urls} == {"http", "https"}
    assert all(page.plan.node_of(resource.index).kind is not NodeKind.DOCUMENT for resource in resources[1:])
