"""Page shapes, measured from two loads of a page whose causes are known."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.timeline import Timeline, make_timeline
from harness.browser.initiators import initiators
from harness.files.load_parts import Initiator
from harness.mirror.recording import read_recording
from harness.synthetic.measured import LoadDetails, document_texts, make_shape
from harness.synthetic.shape import format_shapes, read_shapes
from tests.support.https_recording import HttpsRecording
from tests.support.made_har import PAGE, MadeLoad
from tests.support.made_shapes import LAST_MS, SAID, SHAPE, TEXT, TIMER_MS, TWO, WORK_MS, load


def test_what_caused_what_is_what_both_loads_bear_out() -> None:
    assert [resource.parent for resource in SHAPE.resources] == [None, 0, 0, 2, 3]
    assert [(resource.work_ms, resource.idle_ms) for resource in SHAPE.resources[3:]] == [
        (WORK_MS, 0), (0, TIMER_MS - LAST_MS)]
    assert [resource.after_load for resource in SHAPE.resources] == [False] * 4 + [True], "the timer outlasts the event"
    assert SHAPE.work_ms == LAST_MS


def test_figures_are_those_of_the_load() -> None:
    poll = SHAPE.resources[4]
    assert (poll.host, poll.scheme, poll.path_chars, poll.kind, poll.mime) == (
        "two.test", "http", len("/poll?x=1"), "data", "application/json")
    assert [resource.kind for resource in SHAPE.resources] == ["document", "style", "script", "image", "data"]
    assert [resource.start_ms for resource in SHAPE.resources][:2] == [0, 221]


def test_chrome_says_where_in_a_document_a_request_stands() -> None:
    """The image is asked for by a script behind s.js, for which, and for the style sheet, it waits."""
    told = make_shape(PAGE, "2026-11", load(0), load(100, SAID), LoadDetails({PAGE: TEXT}, 10_000))
    offset = TEXT.index("\n") + 1
    assert [(resource.way, resource.offset, resource.blocking) for resource in told.resources] == [
        ("event", 0, False), ("tag", offset + 30, False), ("tag", offset + 60, True), ("inline", offset + 80, False),
        ("event", 0, True)]
    assert [resource.parent for resource in told.resources] == [None, 0, 0, 0, 3]
    assert [resource.kind for resource in told.resources][-1] == "data", "a synchronous request of a script"


def test_a_tag_whose_address_redirects_is_a_tag() -> None:
    """Chrome tells of both requests that they stand there: they were taken for images of one script."""
    def page(rtt_ms: float) -> Timeline:
        made = MadeLoad(0.0)
        end = made.add(PAGE, 0, "document", referer="", connect=rtt_ms, wait=rtt_ms, receive=20)
        end = made.add(f"{TWO}s.js", end + 1, connect=rtt_ms, wait=rtt_ms, redirect=f"{TWO}t.js")
        made.plt_ms = made.add(f"{TWO}t.js", end + 1, connect=rtt_ms, wait=rtt_ms) + 1
        return make_timeline(made.log(), made.record(), made.plt_ms, said)

    said = (SAID[0], SAID[2], replace(SAID[2], url=f"{TWO}t.js"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails({PAGE: TEXT}, 10_000))
    assert [(resource.way, resource.blocking, resource.redirect_to) for resource in told.resources[:2]] == [
        ("event", False, None), ("tag", True, 2)]


def test_what_a_script_asked_for_is_its_own_though_it_came_long_before_it_could_run() -> None:
    """It comes by a redirect, whose URL Chrome calls it by, and waits for a script that the one before it wrote."""
    def page(rtt_ms: float) -> Timeline:
        made = MadeLoad(0.0)
        end = made.add(PAGE, 0, "document", referer="", connect=rtt_ms, wait=rtt_ms, receive=20)
        came = made.add(f"{TWO}late.js", end + 1, connect=rtt_ms, wait=rtt_ms, redirect=f"{TWO}end.js")
        made.add(f"{TWO}end.js", came, connect=rtt_ms, wait=rtt_ms)
        first = made.add(f"{TWO}s.js", end + 2, connect=rtt_ms, wait=rtt_ms, receive=1000)
        written = made.add(f"{TWO}written.js", first + 1, connect=rtt_ms, wait=rtt_ms, receive=1000)
        made.plt_ms = made.add(f"{TWO}i.png", written + WORK_MS, "image", connect=rtt_ms, wait=rtt_ms) + 1
        return make_timeline(made.log(), made.record(), made.plt_ms, said)

    late = replace(SAID[2], url=f"{TWO}late.js", column=90)
    said = (SAID[0], late, replace(late, url=f"{TWO}end.js"), SAID[2], Initiator(
        f"{TWO}written.js", "script", f"{TWO}s.js", blocking=True), Initiator(f"{TWO}i.png", "script", f"{TWO}late.js"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails({PAGE: TEXT}, 10_000))
    names = {resource.path_chars: resource.index for resource in told.resources}
    image = told.resources[names[len("/i.png")]]
    assert (image.parent, image.way, image.work_ms, image.idle_ms) == (names[len("/end.js")], "event", WORK_MS, 0)


@pytest.mark.parametrize(("after_body_ms", "parent"), [(20, 1), (700, 2)])
def test_an_image_of_a_style_sheet_waits_for_the_body(after_body_ms: float, parent: int) -> None:
    """The head's script holds the body up for a second; what comes long after that has another cause."""
    def page(rtt_ms: float) -> Timeline:
        made = MadeLoad(0.0)
        end = made.add(PAGE, 0, "document", referer="", connect=rtt_ms, wait=rtt_ms, receive=20)
        made.add(f"{TWO}beside.css", end + 1, "style", connect=rtt_ms, wait=rtt_ms)
        body = made.add(f"{TWO}s.js", end + 2, connect=rtt_ms, wait=rtt_ms, receive=1000)
        made.add(f"{TWO}i.png", body + 2, "image", connect=rtt_ms, wait=rtt_ms)
        made.plt_ms = made.add(f"{TWO}b.png", body + after_body_ms, "image", connect=rtt_ms, wait=rtt_ms) + 1
        return make_timeline(made.log(), made.record(), made.plt_ms, said)

    text = f"{TEXT}<img src={TWO}i.png>"
    said = (*SAID[:3], Initiator(f"{TWO}i.png", "parser", PAGE, 1, 80), Initiator(
        f"{TWO}b.png", "parser", f"{TWO}beside.css"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails({PAGE: text}, 10_000))
    assert told.resources[4].parent == parent


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


def test_what_chrome_wanted_how_soon_is_in_the_shape() -> None:
    said = [replace(SAID[0], priority="VeryHigh"), replace(SAID[1], priority="VeryLow"), SAID[2],
            replace(SAID[3], priority="Low", seen=True), replace(SAID[4], priority="Urgent")]
    told = make_shape(PAGE, "2026-11", load(0), load(100, said), LoadDetails({PAGE: TEXT}, 10_000))
    assert [(resource.priority, resource.seen) for resource in told.resources] == [
        ("VeryHigh", False), ("VeryLow", False), (None, False), ("Low", True), (None, False)], "one is no word of CDP's"


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    timeline = load(0)
    silent = replace(timeline, requests=tuple(replace(request, status=0) for request in timeline.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)


def test_which_hosts_spoke_http2_comes_from_the_recording(tmp_path: Path) -> None:
    def secure(timeline: Timeline) -> Timeline:
        requests = (replace(request, url=request.url.replace("http:", "https:")) for request in timeline.requests)
        return replace(timeline, requests=tuple(requests))

    told = LoadDetails(http2_hosts={"two.test", "elsewhere.test"})
    plain = make_shape(PAGE, "2026-11", load(0), load(100), told)
    assert plain.http2_hosts == frozenset(), "browsers speak it over TLS only"
    over_tls = make_shape(PAGE, "2026-11", secure(load(0)), secure(load(100)), told)
    assert over_tls.http2_hosts == {"two.test"}
    path = tmp_path / "page.shape"
    path.write_text(format_shapes([plain, over_tls]))
    assert path.read_text().count("\nhttp2\ttwo.test\n0\t") == 1
    assert read_shapes(path) == [plain, over_tls]
