"""Page-shape files: written, read, refused; measured from two loads whose causes are known; made into pages."""

import gzip
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.timeline import Timeline, make_timeline
from harness.bootstrap import ROOT
from harness.browser.initiators import initiators
from harness.errors import InputError
from harness.files.load_parts import Initiator
from harness.mirror.recording import read_recording
from harness.replay.site import Site
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.loading import put_calls
from harness.synthetic.measured import LoadDetails, document_texts, make_shape
from harness.synthetic.plan import Node, NodeKind, make_plan
from harness.synthetic.shape import HEADING, PageShape, Resource, format_shapes, read_shapes
from tests.support.https_recording import HttpsRecording
from tests.support.made_har import PAGE, MadeLoad

TWO = "http://two.test/"
WORK_MS, TIMER_MS, LAST_MS = 30, 400, 7


def load(rtt_ms: float) -> Timeline:
    """A script works for WORK_MS and asks for an image, whose arrival sets a timer that fetches data.

    Beside it comes a style sheet that in the load without delay ends just before the image is asked for: by chance.
    """
    made = MadeLoad(0.0)
    end = made.add(PAGE, 0, "document", referer="", connect=rtt_ms, wait=rtt_ms, receive=20)
    made.add(f"{TWO}beside.css", end + 1, "style", connect=rtt_ms, wait=rtt_ms, receive=WORK_MS + 13)
    script_end = made.add(f"{TWO}s.js", end + 2, connect=rtt_ms, wait=2 * rtt_ms, receive=10)
    image_end = made.add(f"{TWO}i.png", script_end + WORK_MS, "image", connect=rtt_ms, wait=rtt_ms, receive=60)
    made.add(f"{TWO}poll?x=1#part", image_end + TIMER_MS, "data", connect=rtt_ms, wait=rtt_ms, receive=3)
    made.plt_ms = image_end + LAST_MS
    return make_timeline(made.log(), made.record(), made.plt_ms)


@pytest.fixture(scope="module")
def shape() -> PageShape:
    return make_shape(PAGE, "2026-11", load(0), load(100))


def test_what_caused_what_is_what_both_loads_bear_out(shape: PageShape) -> None:
    assert [resource.parent for resource in shape.resources] == [None, 0, 0, 2, 3]
    assert [(resource.work_ms, resource.idle_ms) for resource in shape.resources[3:]] == [
        (WORK_MS, 0), (0, TIMER_MS - LAST_MS)]
    assert [resource.after_load for resource in shape.resources] == [False] * 4 + [True], "the timer outlasts the event"
    assert shape.work_ms == LAST_MS


def test_figures_are_those_of_the_load(shape: PageShape) -> None:
    poll = shape.resources[4]
    assert (poll.host, poll.scheme, poll.path_chars, poll.kind, poll.mime) == (
        "two.test", "http", len("/poll?x=1"), "data", "application/json")
    assert [resource.kind for resource in shape.resources] == ["document", "style", "script", "image", "data"]
    assert [resource.start_ms for resource in shape.resources][:2] == [0, 221]


TEXT = f"<title>x</title>\n<link href={TWO}beside.css><script src={TWO}s.js></script>"
SAID = (Initiator(PAGE, "other"), Initiator(f"{TWO}beside.css", "parser", PAGE, 1, 30, blocking=True),
        Initiator(f"{TWO}s.js", "parser", PAGE, 1, 60, blocking=True), Initiator(f"{TWO}i.png", "script", PAGE, 1, 80),
        Initiator(f"{TWO}poll?x=1", "script", f"{TWO}s.js", synchronous=True))


def test_chrome_says_where_in_a_document_a_request_stands() -> None:
    """The image is asked for by a script behind s.js, for which, and for the style sheet, it waits."""
    told = make_shape(PAGE, "2026-11", load(0), load(100), LoadDetails(SAID, {PAGE: TEXT}, 10_000))
    offset = TEXT.index("\n") + 1
    assert [(resource.way, resource.offset, resource.blocking) for resource in told.resources] == [
        (None, 0, False), ("tag", offset + 30, False), ("tag", offset + 60, True), ("inline", offset + 80, False),
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
        return make_timeline(made.log(), made.record(), made.plt_ms)

    said = (SAID[0], SAID[2], replace(SAID[2], url=f"{TWO}t.js"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails(said, {PAGE: TEXT}, 10_000))
    assert [(resource.way, resource.blocking, resource.redirect_to) for resource in told.resources[:2]] == [
        (None, False, None), ("tag", True, 2)]


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
        return make_timeline(made.log(), made.record(), made.plt_ms)

    late = replace(SAID[2], url=f"{TWO}late.js", column=90)
    said = (SAID[0], late, replace(late, url=f"{TWO}end.js"), SAID[2], Initiator(
        f"{TWO}written.js", "script", f"{TWO}s.js", blocking=True), Initiator(f"{TWO}i.png", "script", f"{TWO}late.js"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails(said, {PAGE: TEXT}, 10_000))
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
        return make_timeline(made.log(), made.record(), made.plt_ms)

    text = f"{TEXT}<img src={TWO}i.png>"
    said = (*SAID[:3], Initiator(f"{TWO}i.png", "parser", PAGE, 1, 80), Initiator(
        f"{TWO}b.png", "parser", f"{TWO}beside.css"))
    told = make_shape(PAGE, "2026-11", page(0), page(100), LoadDetails(said, {PAGE: text}, 10_000))
    assert told.resources[4].parent == parent


def test_a_frame_without_room_for_a_script_asks_by_tags() -> None:
    """Asked for by the page around it, its image would wait in the page's queue."""
    document = Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document")
    frame = Resource(1, "b.test", "http", "text/html", "utf-8", 800, 9, 0, None, 100, 400, "document", way="tag",
                     offset=4000)
    image = Resource(2, "c.test", "http", "image/gif", None, 500, 9, 1, None, 450, 550, "image", 9, way="inline",
                     offset=300)
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (document, frame, image))], seed=1)
    assert f'<img src="{page.urls[2]}"' in page.bodies[1].decode()
    assert page.urls[2] not in page.bodies[0].decode()


def test_a_document_that_came_compressed_has_its_children_as_far_into_it(tmp_path: Path) -> None:
    """Nothing was known of its text, and all of its children stood at its beginning."""
    recorded = HttpsRecording(tmp_path)
    recorded.add(PAGE, gzip.compress(TEXT.encode()), (("content-encoding", "gzip"),), version="http/1.1")
    recorded.finish(PAGE)
    far = load(100)
    texts = document_texts(far, read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog"), tmp_path / "Web")
    assert texts == {PAGE: TEXT}
    document = replace(far.requests[0], body_bytes=len(TEXT) // 2)
    told = make_shape(PAGE, "2026-11", load(0), replace(far, requests=(document, *far.requests[1:])),
                      LoadDetails(SAID, texts, 10_000))
    offset = TEXT.index("\n") + 1
    assert [(resource.way, resource.offset) for resource in told.resources[1:4]] == [
        (way, round((offset + column) * (len(TEXT) // 2) / len(TEXT)))
        for way, column in (("tag", 30), ("tag", 60), ("inline", 80))]


def test_a_document_is_made_with_its_children_where_they_stood() -> None:
    told = make_shape(PAGE, "2026-11", load(0), load(100), LoadDetails(SAID, {PAGE: TEXT}, 10_000))
    far = {1: 1000, 2: 2000, 3: 4000}
    sized = replace(told, resources=tuple(replace(resource, size_bytes=6000, offset=far.get(resource.index, 0))
                                          for resource in told.resources))
    page, = make_page_set([sized], seed=1)
    document = page.bodies[0].decode()
    places = [document.index(f'<link rel="stylesheet" href="{page.urls[1]}"'),
              document.index(f'<script src="{page.urls[2]}"></script>'),
              document.index(f'put("img","{page.urls[3]}",function(){{wait(function(){{put("wait"')]
    assert len(document) == 6000
    assert 1000 <= places[0] < places[1] < places[2]
    assert 2000 <= places[1] < 2600, "the head holds what the scripts need"
    assert 4000 <= places[2] < 4400


def test_what_was_asked_for_while_the_document_came_in_waits_for_no_script() -> None:
    """As amazon's sixth image: at the document's end it would wait for the script that stops the parser."""

    def child(index: int, kind: str, mime: str, start_ms: int, *, way: str = "tag", offset: int = 0) -> Resource:
        return Resource(index, "a.test", "http", mime, None, 500, 9, 0, None, start_ms, start_ms + 200, kind,
                        way=way, offset=offset, blocking=kind == "script")

    document = Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document")
    shape = PageShape("http://a.test/", "2013-03", (
        document, child(1, "image", "image/gif", 300, offset=4000), child(2, "image", "image/gif", 400, way="event"),
        child(3, "script", "text/javascript", 600, offset=5000), child(4, "image", "image/gif", 800, way="event")))
    page, = make_page_set([shape], seed=1)
    order = sorted((1, 2, 3, 4), key=lambda index: page.bodies[0].decode().index(page.urls[index]))
    assert order == [1, 2, 3, 4]
    assert f'<img src="{page.urls[2]}"' in page.bodies[0].decode()


@pytest.mark.parametrize(("kind", "mime"), [("font", "font/woff2"), ("image", "image/gif"), ("data", "text/plain")])
def test_what_was_asked_for_before_the_first_tag_leaves_the_style_sheets_in_the_head(kind: str, mime: str) -> None:
    """As by a header (Link: rel=preload): the body began there, and a style sheet in it stops the parser."""
    document = Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document")
    early = Resource(1, "a.test", "http", mime, None, 500, 9, 0, None, 50, 90, kind, way="event")
    style = Resource(2, "a.test", "http", "text/css", None, 500, 9, 0, None, 60, 90, "style", way="tag", offset=1000)
    image = Resource(3, "a.test", "http", "image/gif", None, 500, 9, 0, None, 70, 90, "image", way="tag", offset=4000)
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (document, early, style, image))], seed=1)
    html = page.bodies[0].decode()
    places = [html.index(text) for text in (page.urls[1], page.urls[2], "<body>", page.urls[3])]
    assert places == sorted(places)


@pytest.mark.parametrize(("kind", "mime"), [("style", "text/css"), ("script", "text/javascript")])
def test_what_was_asked_for_while_the_head_came_in_waits_for_nothing_in_it(kind: str, mime: str) -> None:
    """A script behind a style sheet runs when that is there; one behind a script was not even found before."""
    document = Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document")
    awaited = Resource(1, "a.test", "http", mime, None, 500, 9, 0, None, 100, 300, kind, way="tag", offset=1000,
                       blocking=kind == "script")
    early = Resource(2, "b.test", "http", "image/gif", None, 500, 9, 0, None, 120, 320, "image", way="event")
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (document, awaited, early))], seed=1)
    html = page.bodies[0].decode()
    assert html.index(page.urls[2]) < html.index(page.urls[1]) < html.index("<body>")


def test_what_was_asked_for_while_a_small_frame_came_in_stands_in_it() -> None:
    """The frame had no room for the script that asked for it: the page asked, once all of the frame was there."""
    document = Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document")
    frame = Resource(1, "b.test", "http", "text/html", "utf-8", 1500, 9, 0, None, 100, 400, "document", way="tag",
                     offset=4000)
    early = Resource(2, "c.test", "http", "image/gif", None, 500, 9, 1, None, 250, 450, "image", way="event")
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (document, frame, early))], seed=1)
    assert [page.urls[2] in page.bodies[index].decode() for index in (0, 1)] == [False, True]


@pytest.mark.parametrize("way", ["tag", "event"])
@pytest.mark.parametrize(("kind", "after_load", "call"), [
    ("font", False, "held"), ("font", True, "fetch"), ("media", False, "fetch"), ("data", False, "fetch")])
def test_a_font_holds_up_the_load_event(kind: str, after_load: bool, call: str, way: str) -> None:
    """In browsers it does; a page without that lost the font's handshake where the load event waited for it."""
    font = Resource(1, "b.test", "http", "font/woff2", None, 500, 9, 0, None, 100, 300, kind, after_load=after_load,
                    way=way)
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (replace(RESOURCE, size_bytes=9000), font))], seed=1)
    document = page.bodies[0].decode()
    assert (f'put("held","{page.urls[1]}")' in document) is (call == "held")
    assert "function put(" in document or call == "fetch"


@pytest.mark.parametrize("after_load", [False, True])
def test_a_fetch_holds_the_load_event_for_what_came_of_it_before_that(after_load: bool) -> None:
    data = Node([1], NodeKind.FETCH, 100, False)
    image = Node([2], NodeKind.IMAGE, 100, False, after_load=after_load)
    code = put_calls([data], {1: [image]}, {}, lambda index: f"http://a.test/{index}")
    assert code.startswith(f'put("{"fetch" if after_load else "held"}","http://a.test/1",function(){{')


@pytest.mark.parametrize("after_load", [False, True])
def test_work_that_several_requests_waited_for_is_done_once(after_load: bool) -> None:
    nodes = [Node([number], NodeKind.IMAGE, 100, False, work_ms=work_ms, after_load=after_load)
             for number, work_ms in enumerate([30, 40, 40], start=1)]
    code = put_calls(nodes, {}, {}, lambda index: f"http://a.test/{index}")
    assert re.findall(r"work\((\d+)\)", code) == ["30", "10"]


def test_work_before_the_document_is_parsed_is_none_of_that_behind_it() -> None:
    early, late = (Node([number], NodeKind.IMAGE, 100, False, work_ms=work_ms, waits=waits)
                   for number, work_ms, waits in ((1, 45, False), (2, 40, True)))
    code = put_calls([early, late], {}, {}, lambda index: f"http://a.test/{index}")
    assert re.findall(r"work\((\d+)\)", code) == ["45", "40"]


WANTED = (
    Resource(0, "a.test", "http", "text/html", "utf-8", 9000, 1, None, None, 0, 700, "document", priority="VeryHigh"),
    Resource(1, "a.test", "http", "text/css", None, 500, 9, 0, None, 50, 90, "style", way="tag", priority="VeryLow"),
    Resource(2, "a.test", "http", "image/gif", None, 500, 9, 0, None, 60, 90, "image", way="tag", priority="Medium"),
    Resource(3, "a.test", "http", "image/gif", None, 43, 9, 0, None, 60, 90, "image", way="tag", priority="Low",
             seen=True),
    Resource(4, "b.test", "http", "text/html", "utf-8", 1600, 9, 0, None, 60, 90, "document", way="tag"),
    Resource(5, "b.test", "http", "image/gif", None, 500, 9, 4, None, 95, 99, "image", way="tag", seen=True),
    Resource(6, "a.test", "http", "text/css", None, 500, 9, 0, None, 800, 900, "style", way="event",
             priority="VeryLow"),
    Resource(7, "a.test", "http", "image/gif", None, 500, 9, 0, None, 800, 900, "image", way="event", seen=True))
"""What Chrome wanted last, early, within the window, and in a frame there, by tags and by scripts."""


def test_what_chrome_wanted_how_soon_it_wants_again() -> None:
    page, = make_page_set([PageShape("http://a.test/", "2013-03", WANTED)], seed=1)
    html, url = page.bodies[0].decode(), page.urls
    assert [text for text in (
        f'<link rel="stylesheet" media="print" href="{url[1]}">',
        f'<img src="{url[2]}" width="200" height="150" alt="">',
        f'<img class="seen" src="{url[3]}" width="1" height="1" alt="">',
        f'<iframe class="seen" src="{url[4]}"', f'put("print","{url[6]}");', f'put("seen","{url[7]}");',
        "section{margin-top:100vh}") if text not in html] == []
    assert f'<img class="seen" src="{url[5]}" width="96" height="72" alt="">' in page.bodies[4].decode()


def test_where_that_is_not_known_all_stands_as_it_comes() -> None:
    unknown = tuple(replace(resource, priority=None, seen=False) for resource in WANTED)
    page, = make_page_set([PageShape("http://a.test/", "2013-03", unknown)], seed=1)
    html = page.bodies[0].decode()
    assert "100vh" not in html
    assert 'class="seen"' not in html
    assert 'width="200"' not in html


def test_a_background_stands_where_the_real_one_did() -> None:
    style = replace(WANTED[1], priority="VeryHigh")
    images = [replace(WANTED[2], index=index, parent=1, way="event", priority="Low", seen=index == 2)
              for index in (2, 3)]
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (WANTED[0], style, *images))], seed=1)
    assert '<i class="bg2 seen"></i><i class="bg3"></i>' in page.bodies[0].decode()


def test_what_comes_after_the_load_event_is_asked_for_side_by_side() -> None:
    def image(index: int, parent: int, idle_ms: int) -> Resource:
        return Resource(index, "a.test", "http", "image/png", None, 500, 9, parent, None, 900, 990, "image",
                        idle_ms=idle_ms, after_load=True, way="event")

    document = Resource(0, "a.test", "http", "text/html", "utf-8", 6000, 1, None, None, 0, 300, "document")
    shape = PageShape("http://a.test/", "2013-03", (document, image(1, 0, 300), image(2, 1, 200), image(3, 2, 100)))
    plan = make_plan(shape, {})
    code = put_calls(plan.nodes[0].children, {}, {}, lambda index: f"http://a.test/{index}")
    assert re.findall(r"setTimeout\(function\(\){put\(\"img\",\"http://a.test/(\d)\"\);},(\d+)\)", code) == [
        ("1", "0"), ("2", "0"), ("3", "0")]


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
    told = make_shape(PAGE, "2026-11", load(0), load(100), LoadDetails(said, {PAGE: TEXT}, 10_000))
    assert [(resource.priority, resource.seen) for resource in told.resources] == [
        ("VeryHigh", False), ("VeryLow", False), (None, False), ("Low", True), (None, False)], "one is no word of CDP's"


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    timeline = load(0)
    silent = replace(timeline, requests=tuple(replace(request, status=0) for request in timeline.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)


def test_a_file_is_read_as_it_was_written(shape: PageShape, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    wanted = replace(shape, url="http://other.test/", work_ms=0, resources=WANTED)
    path.write_text(format_shapes([shape, wanted]))
    assert read_shapes(path) == [shape, wanted]


ROW = ["0", "a.test", "http", "text/html", "-", "100", "1", "-", "-", "0", "9", "document", "0", "0", "0"]


@pytest.mark.parametrize(("row", "problem"), [
    ([*ROW[:11], "thing", "0", "0", "0"], "kind thing"), ([*ROW[:12], "-1", "0", "0"], "work_ms -1"),
    (ROW[:11], "11 columns"), ([*ROW[:2], "ftp", *ROW[3:]], "a scheme is"),
    ([*ROW[:6], "0", *ROW[7:]], "at least its slash")])
def test_a_line_that_cannot_be_right_is_refused(row: list[str], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    path.write_text(HEADING + "format\t2\npage\thttp://a.test/\t2026-11\t0\n" + "\t".join(row) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:5: .*{problem}"):
        read_shapes(path)


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


def test_pages_are_replayed_over_http2_from_the_hosts_that_spoke_it(tmp_path: Path) -> None:
    image = replace(RESOURCE, index=1, host="b.test", mime="image/png", path_chars=9, parent=0, kind="image")
    page = PageShape("https://a.test/", "2026-11", tuple(replace(resource, scheme="https") for resource in
                                                         (RESOURCE, image)), http2_hosts=frozenset(["b.test"]))
    (tmp_path / "page.shape").write_text(format_shapes([page]))
    make_pages(tmp_path, "Set", 1, tmp_path / "page.shape")
    recording = read_recording(tmp_path / "Set", tmp_path / "Set.fetchlog")
    assert [Site(recording, host, "https").http2 for host in recording.hosts()] == [False, True]
    assert not Site(recording, "b.test").http2, "plain http has none"
    assert recording.problems == []


@pytest.mark.parametrize(("lines", "problem"), [("http2\tb.test\npage\thttp://a.test/\t2026-11\t0", "page.shape:2: "),
                                                ("page\thttp://a.test/\t2026-11\t0\nhttp2\t../x", "page.shape:3: ")])
def test_a_line_of_http2_hosts_that_cannot_be_right_is_refused(lines: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(f"format\t4\n{lines}\n")
    with pytest.raises(InputError, match=problem):
        read_shapes(tmp_path / "page.shape")


@pytest.mark.parametrize(("index", "column", "value", "problem"), [
    (0, 8, "7", r"redirect to 7, of 2 in http://www\.a\.test"), (0, 8, "2", "redirect to 2, of 2 in"),
    (1, 5, str(2**29 + 1), "too large to be made: 53687"), (1, 6, str(2**21 + 1), "a path of 2097153 characters")])
def test_what_would_not_be_a_page_is_refused(index: int, column: int, value: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "page.shape"
    rows = [["0", "www.a.test", "http", "text/html", "-", "500", "1", "-", "-", "0", "10"],
            ["1", "www.a.test", "http", "image/png", "-", "500", "6", "0", "-", "0", "10"]]
    rows[index][column] = value
    path.write_text("page\thttp://www.a.test\t2013-03\n" + "".join("\t".join(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"page\.shape:[13]: .*{problem}"):
        read_shapes(path)


@pytest.mark.parametrize(("priority", "seen", "problem"), [
    ("Lowest", "0", "priority Lowest"), ("Low", "2", "seen 2"), ("Low", "", "seen")])
def test_a_priority_that_chrome_does_not_know_is_refused(priority: str, seen: str, problem: str,
                                                         tmp_path: Path) -> None:
    line = "\t".join([*ROW, "-", "0", "0", priority, seen])
    (tmp_path / "page.shape").write_text(f"format\t5\npage\thttp://a.test/\t2026-11\t0\n{line}\n")
    with pytest.raises(InputError, match=rf"page\.shape:3: .*{problem}"):
        read_shapes(tmp_path / "page.shape")


def test_a_file_of_an_older_format_knows_no_priorities(tmp_path: Path) -> None:
    line = "\t".join([*ROW, "-", "0", "1"])
    (tmp_path / "page.shape").write_text(f"format\t4\npage\thttp://a.test/\t2026-11\t0\n{line}\n")
    resource = read_shapes(tmp_path / "page.shape")[0].resources[0]
    assert (resource.blocking, resource.priority, resource.seen) == (True, None, False)


@pytest.mark.parametrize("month", ["2026-13", "2026", "11-2026", "today", ""])
def test_what_is_no_month_is_refused(month: str, tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(f"page\thttp://a.test/\t{month}\n" + "\t".join(ROW[:11]) + "\n")
    with pytest.raises(InputError, match=r"page\.shape:1: .* is not a month, written as 2013-03"):
        read_shapes(tmp_path / "page.shape")


def test_a_newer_format_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text("format\t6\n")
    with pytest.raises(InputError, match="format 6"):
        read_shapes(tmp_path / "page.shape")
    with pytest.raises(InputError, match=r"scripts/shape\.py makes one"):
        read_shapes(tmp_path / "none")


def test_pages_made_from_it_work_and_wait_as_long(shape: PageShape) -> None:
    sized = replace(shape, resources=tuple(replace(resource, size_bytes=3000) for resource in shape.resources))
    page, = make_page_set([sized], seed=1)
    document, style, script = (page.bodies[index].decode() for index in range(3))
    assert f"work({LAST_MS});" in document
    image = f'work({WORK_MS});put("img","{page.urls[3]}",function()'
    assert image + '{loaded(function(){setTimeout(function(){put("fetch"' in script
    assert page.urls[1] in document
    assert page.urls[2] in document
    assert all(page.urls[3] not in body for body in (document, style))
    assert [len(page.bodies[index]) for index in range(5)] == [3000] * 5


RESOURCE = Resource(0, "a.test", "http", "text/html", None, 5000, 1, None, None, 0, 9, "document")


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
    path.write_text(format_shapes([PageShape("http://a.test/", "2026-11", tuple(resources))]))
    command = [sys.executable, str(ROOT / "scripts" / "make_pages.py"), "--name", "Odd", "--shape", str(path),
               "--directory", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "Odd.pages").read_text() == "http://a.test/\n"
    assert json.loads((tmp_path / "Odd.fetchlog" / "manifest.json").read_text())["note"].count("odd.shape") == 1
    recording = read_recording(tmp_path / "Odd", tmp_path / "Odd.fetchlog")
    assert recording.hosts() == ["a.test"]
    page, = make_page_set(read_shapes(path), seed=1)
    assert len(set(page.urls)) == len(resources)
    assert {url.partition(":")[0] for url in page.urls} == {"http", "https"}
    assert all(page.plan.node_of(resource.index).kind is not NodeKind.DOCUMENT for resource in resources[1:])


def test_a_frame_of_a_page_with_a_long_url_is_made(tmp_path: Path) -> None:
    """Frames say which page they belong to; where that has no room, they are prose."""
    frame = replace(RESOURCE, index=1, size_bytes=1500, path_chars=9, parent=0, kind="document")
    page, = make_page_set([PageShape("http://a.test/?" + "q" * 1500, "2026-11", (RESOURCE, frame))], seed=1)
    assert [len(page.bodies[index]) for index in range(2)] == [5000, 1500]


def test_pages_of_2013s_figures_may_be_too_small_for_what_they_held(tmp_path: Path) -> None:
    """A compressed document has more tags than bytes; what is asked for as an image may be an empty answer."""
    row = ["0", "a.test", "http", "text/html", "utf-8", "70", "1", "-", "-", "0", "5"]
    images = [[str(number), "a.test", "http", "image/gif", "-", size, "60", "0", "-", "6", "9"]
              for number, size in enumerate(("1", "34", "35"), start=1)]
    path = tmp_path / "old.shape"
    path.write_text("page\thttp://a.test/\t2013-03\n" + "".join("\t".join(fields) + "\n" for fields in (row, *images)))
    page, = make_page_set(read_shapes(path), seed=1)
    assert [len(page.bodies[index]) for index in range(1, 4)] == [1, 34, 35]
    assert all(url.encode() in page.bodies[0] for url in page.urls[1:])


def test_a_page_that_the_file_does_not_have_is_refused(shape: PageShape, tmp_path: Path) -> None:
    (tmp_path / "page.shape").write_text(format_shapes([shape]))
    (tmp_path / "Set.pages").write_text("http://elsewhere.test/\n")
    with pytest.raises(InputError, match="no figures of"):
        make_pages(tmp_path, "Set", 1, tmp_path / "page.shape")
