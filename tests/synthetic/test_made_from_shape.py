"""Pages made from a page's shape; what they hold: tests/corpus/made_pages.jsonl."""

import json
import sys
from pathlib import Path

from harness.bootstrap import ROOT
from harness.mirror.recording import read_recording
from harness.synthetic.build import make_page_set
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.shape import PageShape, Resource, format_shapes, read_shapes
from tests.support.made_shapes import RESOURCE
from tests.support.ran import ran


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
