"""Pages made from a page's shape."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.mirror.recording import read_recording
from harness.replay.site import Site
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.loading import put_calls
from harness.synthetic.measured import LoadDetails, make_shape
from harness.synthetic.plan import Node, NodeKind, make_plan
from harness.synthetic.shape import PageShape, Resource, format_shapes, read_shapes
from tests.support.made_har import PAGE
from tests.support.made_shapes import LAST_MS, RESOURCE, SAID, SHAPE, TEXT, WANTED, WORK_MS, load


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


def test_a_document_is_made_with_its_children_where_they_stood() -> None:
    told = make_shape(PAGE, "2026-11", load(0), load(100, SAID), LoadDetails({PAGE: TEXT}, 10_000))
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


def test_what_chrome_wanted_how_soon_it_wants_again() -> None:
    page, = make_page_set([PageShape("http://a.test/", "2013-03", WANTED)], seed=1)
    html, url = page.bodies[0].decode(), page.urls
    assert [text for text in (
        f'<link rel="stylesheet" media="print" href="{url[1]}">',
        f'<img src="{url[2]}" width="200" height="150" alt="">',
        f'<img class="seen" src="{url[3]}" width="1" height="1" alt="">',
        f'<iframe class="seen" src="{url[4]}"', f'put("print","{url[6]}");', f'put("img seen","{url[7]}");',
        "section{margin-top:100vh}") if text not in html] == []
    assert f'<img class="seen" src="{url[5]}" width="96" height="72" alt="">' in page.bodies[4].decode()


def test_what_comes_after_the_load_event_is_asked_for_side_by_side() -> None:
    def image(index: int, parent: int, idle_ms: int) -> Resource:
        return Resource(index, "a.test", "http", "image/png", None, 500, 9, parent, None, 900, 990, "image",
                        idle_ms=idle_ms, after_load=True, way="event")

    document = Resource(0, "a.test", "http", "text/html", "utf-8", 6000, 1, None, None, 0, 300, "document")
    shape = PageShape("http://a.test/", "2013-03", (document, image(1, 0, 300), image(2, 1, 200), image(3, 2, 100)))
    plan = make_plan(shape)
    code = put_calls(plan.nodes[0].children, {}, {}, lambda index: f"http://a.test/{index}")
    assert re.findall(r"setTimeout\(function\(\){put\(\"img\",\"http://a.test/(\d)\"\);},(\d+)\)", code) == [
        ("1", "0"), ("2", "0"), ("3", "0")]


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


def test_pages_made_from_it_work_and_wait_as_long() -> None:
    sized = replace(SHAPE, resources=tuple(replace(resource, size_bytes=3000) for resource in SHAPE.resources))
    page, = make_page_set([sized], seed=1)
    document, style, script = (page.bodies[index].decode() for index in range(3))
    assert f"work({LAST_MS});" in document
    image = f'work({WORK_MS});put("img","{page.urls[3]}",function()'
    assert image + '{loaded(function(){setTimeout(function(){put("fetch"' in script
    assert page.urls[1] in document
    assert page.urls[2] in document
    assert all(page.urls[3] not in body for body in (document, style))
    assert [len(page.bodies[index]) for index in range(5)] == [3000] * 5


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
    assert len(page.bodies[1]) == 1500


def test_figures_may_be_too_small_for_what_they_held() -> None:
    """A compressed document has more tags than bytes; what is asked for as an image may be an empty answer."""
    small = [replace(RESOURCE, index=number, mime="image/gif", size_bytes=size, path_chars=60, parent=0, start_ms=6,
                     kind="image", way="tag") for number, size in enumerate((1, 34, 35), start=1)]
    page, = make_page_set([PageShape("http://a.test/", "2013-03", (replace(RESOURCE, size_bytes=70), *small))], seed=1)
    assert [len(page.bodies[index]) for index in range(1, 4)] == [1, 34, 35]
    assert all(url.encode() in page.bodies[0] for url in page.urls[1:])
