"""Page shapes, measured from two loads of a page whose causes are known."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from harness.browser.initiators import initiators
from harness.mirror.recording import read_recording
from harness.synthetic.measured import LoadDetails, document_texts, make_shape
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


def test_what_chrome_says_of_a_request_is_read() -> None:
    def sent(url: str, kind: str, initiator: dict[str, object], priority: str = "High", frame: str = "1",
             ) -> dict[str, object]:
        return {"request": {"url": url, "initialPriority": priority}, "type": kind, "initiator": initiator,
                "frameId": frame}

    frames = [{"url": "http://a.test/in", "lineNumber": 9}, {"url": "http://a.test/s.js", "lineNumber": 3,
                                                              "columnNumber": 4}]
    by_parser = {"type": "parser", "url": "http://a.test/#x", "lineNumber": 2, "columnNumber": 7}
    told = initiators([
        sent("http://a.test/", "Document", {"type": "other"}), sent("http://a.test/s.js", "Script", by_parser),
        sent("http://a.test/late.js", "Script", by_parser, "Low"), sent("http://a.test/ad.js", "Script", by_parser,
                                                                        frame="2"),
        sent("http://a.test/x", "XHR", {"type": "script", "stack": {"callFrames": frames}}, "VeryHigh")])
    assert [(request["by"], request["line"], request["column"], request["blocking"], request["synchronous"])
            for request in told] == [
        ("", 0, 0, False, False), ("http://a.test/", 2, 7, True, False), ("http://a.test/", 2, 7, False, False),
        ("http://a.test/", 2, 7, False, False), ("http://a.test/s.js", 3, 4, True, True)], "one is another frame's"


def test_what_chrome_wants_how_soon_is_read() -> None:
    """An image that stands within the window is raised once Chrome knows it, or has that priority from the start."""
    def sent(number: int, kind: str, priority: str) -> dict[str, object]:
        return {"requestId": str(number), "type": kind, "initiator": {"type": "other"},
                "request": {"url": f"http://a.test/{number}", "initialPriority": priority}}

    told = initiators([sent(0, "Image", "Low"), sent(1, "Image", "Medium"), sent(2, "Image", "High"),
                       sent(3, "Image", "Low"), sent(4, "Script", "Low"), sent(5, "Script", "High")],
                      [{"requestId": "0", "newPriority": "High"}, {"requestId": "3", "newPriority": "VeryLow"},
                       {"requestId": "4", "newPriority": "High"}])
    assert [(request["priority"], request["seen"]) for request in told] == [
        ("Low", True), ("Medium", False), ("High", True), ("Low", False), ("Low", False), ("High", False)]


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    timeline = load(0)
    silent = replace(timeline, requests=tuple(replace(request, status=0) for request in timeline.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)
