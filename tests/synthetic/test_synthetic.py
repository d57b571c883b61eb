"""Page shapes: written, read, refused; and the synthetic pages made of them as files.

How shapes are measured from two loads, and what made pages hold: tests/corpus/test_shapes.py. How Chrome loads them:
test_synthetic_chrome.
"""

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.pages import sanitise
from harness.files.text_log import read_log
from harness.files.urls import split_url
from harness.mirror.paths import LONGEST_PLAIN, md5_name
from harness.mirror.recording import read_recording
from harness.mirror.servers import read_rtts, write_rtts
from harness.synthetic.build import SyntheticPage, make_page_set, make_pages
from harness.synthetic.measured import make_shape
from harness.synthetic.padding import make_image, prose
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.places import document_texts
from harness.synthetic.shape import COLUMNS, HEADING, SHAPE_FILE, PageShape, Resource, format_shapes, read_shapes
from tests.support.growth import assert_linear
from tests.support.internet.recorded import tree
from tests.support.made_har import PAGE, timeline_of
from tests.support.noted import cases, each_case
from tests.support.ran import ran
from tests.support.recording import MadeRecording
from tests.support.waiting import wait_until

RESOURCE = Resource(0, "a.test", "http", "text/html", None, 5000, 1, None, None, 0, 9, "document")
LOAD = timeline_of(cases("corpus/shapes.jsonl")[0]["near"])


def test_the_text_of_a_document_that_came_compressed_is_known(tmp_path: Path) -> None:
    """It was not, and all of its children stood at its beginning."""
    made = MadeRecording(tmp_path)
    made.add(PAGE, gzip.compress(b"<title>x</title>"), (("content-encoding", "gzip"),))
    made.finish(PAGE)
    recording = read_recording(made.mirror, tmp_path / "Web.fetchlog")
    assert document_texts(LOAD, recording, made.mirror) == {PAGE: "<title>x</title>"}


def test_a_page_that_did_not_answer_has_no_shape() -> None:
    silent = replace(LOAD, requests=tuple(replace(request, status=0) for request in LOAD.requests))
    with pytest.raises(ValueError, match="not answered"):
        make_shape(PAGE, "2026-11", silent, silent)


def test_distances_that_somebody_wrote_down_stay(tmp_path: Path) -> None:
    path = tmp_path / "A.rtts"
    assert write_rtts(path, {"a.test": 30.0, "b.test": 1e9}, "x.har")
    assert read_rtts(path) == {"a.test": (2, 30.0)}
    assert not write_rtts(path, {"a.test": 40.0}, "y.har")
    assert not write_rtts(tmp_path / "B.rtts", {}, "x.har")
    assert [*tmp_path.iterdir()] == [path]


WHOLE = format_shapes([PageShape("http://a.test/", "2026-11", [RESOURCE])])
*_, PAGE_LINE, LINE = WHOLE.splitlines()
ROW = dict(zip(COLUMNS, LINE.split("\t"), strict=True))
"""The columns of a page's own document."""
SECOND = {**ROW, "index": "1", "parent": "0", "path_chars": "6", "kind": "image"}


def test_a_file_is_read_as_it_was_written() -> None:
    assert format_shapes(read_shapes()) == SHAPE_FILE.read_text(encoding="ascii")


@each_case("synthetic/refused_shapes.jsonl")
def test_a_line_that_cannot_be_right_is_refused_by_its_number(case: dict[str, Any], tmp_path: Path) -> None:
    """`document`, `image`: what is changed in the line of the page's own document, or of an image below it; `format`:
    the line of another one.
    """
    lines = case.get("lines") or [PAGE_LINE, *("\t".join({**row, **case.get(kind, {})}.values()) for kind, row in (
        ("document", ROW), ("image", SECOND))[:1 + ("image" in case)])]
    path = tmp_path / "page.shape"
    path.write_text("\n".join([*HEADING.splitlines(), case.get("format", "format\t5"), *lines]) + "\n")
    with pytest.raises(InputError, match=rf"page\.shape:{case['at']}: "):
        read_shapes(path)


def test_what_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    path, made_of = tmp_path / "page.shape", tmp_path / "Set.pages"
    made_of.write_text("http://elsewhere.test/\n")
    for text, refused in ((None, path), ("", path), (WHOLE, made_of)):
        if text is not None:
            path.write_text(text)
        with pytest.raises(InputError, match=f"^{refused}:1: "):
            make_pages(tmp_path, "Set", 1, path)
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
            resources.append(Resource(number, f"{'abc'[number % 3]}.test", "https" if number % 2 else "http", mime,
                                      None, size_bytes, path_chars, max(0, number - 4), None, number, number + 1,
                                      kind, 1, number % 3, number % 5 == 0))
    path, *folders = (tmp_path / name for name in ("odd.shape", "here", "there", "secure"))
    path.write_text(format_shapes([PageShape("http://a.test/", "2026-11", resources, 0,
                                             frozenset({"a.test", "b.test", "c.test"}))]))
    for folder in folders:
        folder.mkdir()
    here, there, secure = folders
    make_pages(here, "Odd", 1, path)
    ran(sys.executable, ROOT / "scripts" / "make_pages.py", "--name", "Odd", "--shape", path, "--directory", there,
        "--seed", 1, status=0, env={**os.environ, "PYTHONHASHSEED": "1"})
    assert tree(here) == tree(there), "the same seed gives the same bytes in another process"
    make_pages(secure, "Odd", 1, path, https=True)
    for folder, scheme in ((here, "http"), (secure, "https")):
        assert (folder / "Odd.pages").read_text() == f"{scheme}://a.test/\n"
    assert not any(b"http://" in body for body in tree(secure / "Odd").values())
    recording = read_recording(secure / "Odd", secure / "Odd.fetchlog")
    assert {scheme for host in recording.hosts() for scheme in recording.schemes(host)} == {"https"}
    assert json.loads((here / "Odd.fetchlog" / "manifest.json").read_text())["note"].count("odd.shape") == 1
    recording = read_recording(here / "Odd", here / "Odd.fetchlog")
    assert recording.hosts() == ["a.test", "b.test", "c.test"]
    page, = make_page_set(read_shapes(path), seed=1)
    assert len(set(page.urls)) == len(resources)
    assert {url.partition(":")[0] for url in page.urls} == {"http", "https"}
    assert all(page.plan.node_of(resource.index).kind is not NodeKind.DOCUMENT for resource in resources[1:])


PAGES = ["http://en.wikipedia.org/wiki/Transmission_Control_Protocol", "http://www.amazon.com"]
LIST = f"{PAGES[0]}\n"


@pytest.fixture(scope="module")
def pages() -> list[SyntheticPage]:
    return make_page_set(read_shapes(), seed=1)


@pytest.mark.parametrize(("mime", "sizes"), [("image/gif", [*range(35, 320), 5000, 90_000]),
                                             ("image/png", [*range(35, 400), 5001]),
                                             ("image/jpeg", [*range(35, 900, 7), 5002, 90_000])])
def test_an_image_of_any_size_can_be_made(mime: str, sizes: list[int]) -> None:
    for size in sizes:
        encoded = make_image(mime, size, random.Random(size))
        assert len(encoded) == size
        Image.open(io.BytesIO(encoded)).load()


def test_documents_say_what_they_are_and_every_url_stands_in_one_resource_above_it(pages: list[SyntheticPage]) -> None:
    for page in pages:
        texts = {node.final: unescape(page.bodies[node.final].decode("latin-1")) for node in page.plan.nodes
                 if not node.no_content and node.kind not in (NodeKind.IMAGE, NodeKind.BEACON)}
        assert f"stands in for {page.shape.url} as it was in March 2013" in texts[page.plan.nodes[0].final]
        assert 'rel="icon"' in texts[page.plan.nodes[0].final], "or Chrome asks for /favicon.ico"
        for node in page.plan.nodes[1:]:
            above, at = [], node.parent
            while at is not None:
                above.append(at.final)
                at = at.parent
            [holder] = [index for index, text in texts.items() if f'"{page.urls[node.index]}"' in text]
            assert holder in above, page.urls[node.index]


def test_a_replay_finds_every_answer(pages: list[SyntheticPage], tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text("\n".join(PAGES), encoding="ascii")
    make_pages(tmp_path, "Paper", seed=1)
    recording = read_recording(tmp_path / "Paper", tmp_path / "Paper.fetchlog")
    assert (recording.problems, recording.manifest.synthetic, recording.manifest.content["seed"]) == ([], True, 1)
    for page in (page for page in pages if page.shape.url in PAGES):
        log = read_log(tmp_path / "Paper.fetchlog" / sanitise(page.shape.url))
        assert log.problems == []
        assert {(row.url, row.start_ms, row.end_ms) for row in log.transactions} == {
            (url, resource.start_ms, resource.end_ms)
            for url, resource in zip(page.urls, page.shape.resources, strict=True)}
        document = page.urls[page.plan.nodes[0].final]
        assert recording.document(page.shape.url) in (document, document.rstrip("/"))
        for node in page.plan.nodes:
            answers = [answer for index in node.hops for answer in recording.exact_url(page.urls[index])]
            assert [(answer.status, answer.redirect_url) for answer in answers] == [
                *((302, page.urls[target]) for target in node.hops[1:]), (204 if node.no_content else 200, "")]
            if not node.no_content:
                body, size = page.bodies[node.final], page.plan.resources[node.final].size_bytes
                host, target = split_url(page.urls[node.final])
                file = answers[-1].file or ""
                assert (tmp_path / "Paper" / file).read_bytes() == body
                assert size <= len(body) <= (size if node.index else 1.1 * size), "too small for its tags, say"
                assert len(target) <= LONGEST_PLAIN or file == f"{host}/{md5_name(target)}"


def test_complete_pages_are_left_and_others_made_again(tmp_path: Path) -> None:
    (tmp_path / "Wiki.pages").write_text(LIST)
    document = tmp_path / "Wiki" / "en.wikipedia.org" / "wiki" / "Transmission_Control_Protocol"
    assert "made" in make_pages(tmp_path, "Wiki", seed=1)
    first = document.read_bytes()
    assert "nothing to do" in make_pages(tmp_path, "Wiki", seed=1)
    for spoil in (document.unlink, lambda: document.write_bytes(first[:-1] + b"x")):
        spoil()
        assert "made" in make_pages(tmp_path, "Wiki", seed=1)
        assert document.read_bytes() == first
    assert "made" in make_pages(tmp_path, "Wiki", seed=2)
    assert document.read_bytes() != first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Wiki", "Wiki.fetchlog", "Wiki.pages"]


def test_an_interrupted_making_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_bytes((ROOT / "Paper.pages").read_bytes())
    command = [sys.executable, str(ROOT / "scripts" / "make_pages.py"), "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as making:
        wait_until(lambda: any(path.name.startswith(".Paper.recording-") for path in tmp_path.iterdir()))
        making.send_signal(signal.SIGTERM)
        assert making.wait() == -signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["Paper.pages"]


def test_a_recording_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text(LIST)
    (tmp_path / "Paper" / "www.amazon.com").mkdir(parents=True)
    with pytest.raises(InputError):
        make_pages(tmp_path, "Paper", seed=1)
    (tmp_path / "Paper.fetchlog").mkdir()
    assert "recording" in make_pages(tmp_path, "Paper", seed=1)
    assert list((tmp_path / "Paper").rglob("*")) == [tmp_path / "Paper" / "www.amazon.com"]


def test_a_long_text_takes_time_in_proportion() -> None:
    """A video of 20 MB is prose: by += it took more than ten minutes."""
    assert_linear(lambda size: prose(random.Random(1), size), 500_000)
