"""Page shapes, measured from two loads of a page whose causes are known."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.browser.devtools import initiators
from harness.mirror.recording import read_recording
from harness.synthetic.measured import LoadDetails, document_texts, make_shape
from tests.support.beside import cases
from tests.support.https_recording import HttpsRecording
from tests.support.made_har import PAGE
from tests.support.made_shapes import LAST_MS, SAID, SHAPE, TEXT, TIMER_MS, WORK_MS, load


def test_what_caused_what_is_what_both_loads_bear_out() -> None:
    assert [resource.parent for resource in SHAPE.resources] == [None, 0, 0, 2, 3]
    assert [(resource.work_ms, resource.idle_ms) for resource in SHAPE.resources[3:]] == [
        (WORK_MS, 0), (0, TIMER_MS - LAST_MS)]
    assert [resource.after_load for resource in SHAPE.resources] == [False] * 4 + [True], "the timer outlasts the event"
    assert SHAPE.work_ms == LAST_MS


def test_a_document_that_came_compressed_has_its_children_as_far_into_it(tmp_path: Path) -> None:
    """Nothing was known of its text, and all of its children stood at its beginning."""
    recorded = HttpsRecording(tmp_path)
    recorded.add(PAGE, gzip.compress(TEXT.encode()), (("content-encoding", "gzip"),), version="http/1.1")
    recorded.finish(PAGE)
    far = load(100, SAID)
    texts = document_texts(far, read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog"), tmp_path / "Web")
    assert texts == {PAGE: TEXT}
    document = replace(far.requests[0], body_bytes=len(TEXT) // 2)
    told = make_shape(PAGE, "2026-11", load(0), replace(far, requests=(document, *far.requests[1:])),
                      LoadDetails(texts, 10_000))
    offset = TEXT.index("\n") + 1
    assert [(resource.way, resource.offset) for resource in told.resources[1:4]] == [
        (way, round((offset + column) * (len(TEXT) // 2) / len(TEXT)))
        for way, column in (("tag", 30), ("tag", 60), ("inline", 80))]


@pytest.mark.parametrize("case", cases(__file__, "initiators.jsonl"), ids=lambda case: case["what"])
def test_what_chrome_says_of_requests_is_read(case: dict[str, Any]) -> None:
    """initiators.jsonl: events of DevTools, changes of priority, and what is known of each request from them."""
    told = zip(initiators(case["sent"], case.get("changed", [])), case["told"], strict=True)
    assert [{key: each[key] for key in wanted} for each, wanted in told] == case["told"]


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    timeline = load(0)
    silent = replace(timeline, requests=tuple(replace(request, status=0) for request in timeline.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)
