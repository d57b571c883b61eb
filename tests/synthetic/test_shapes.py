"""Page shapes: written, read, refused; and pages made of them.

How they are measured from two loads: tests/corpus/shapes.jsonl; what made pages hold: made_pages.jsonl there.
"""

import gzip
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.mirror.recording import read_recording
from harness.mirror.servers import read_rtts, write_rtts
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.measured import make_shape
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.places import document_texts
from harness.synthetic.shape import COLUMNS, HEADING, SHAPE_FILE, PageShape, Resource, format_shapes, read_shapes
from tests.support.internet.recorded import tree
from tests.support.made_har import PAGE, timeline_of
from tests.support.noted import cases, each_case
from tests.support.ran import ran
from tests.support.recording import MadeRecording

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
    path, here, there = (tmp_path / name for name in ("odd.shape", "here", "there"))
    path.write_text(format_shapes([PageShape("http://a.test/", "2026-11", resources, 0,
                                             frozenset({"a.test", "b.test", "c.test"}))]))
    here.mkdir()
    there.mkdir()
    make_pages(here, "Odd", 1, path)
    ran(sys.executable, ROOT / "scripts" / "make_pages.py", "--name", "Odd", "--shape", path, "--directory", there,
        "--seed", 1, status=0, env={**os.environ, "PYTHONHASHSEED": "1"})
    assert tree(here) == tree(there), "the same seed gives the same bytes in another process"
    secure = tmp_path / "secure"
    secure.mkdir()
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
