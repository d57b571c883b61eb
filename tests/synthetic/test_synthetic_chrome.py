"""Synthetic pages in an experiment, every host 100 ms away: their shape's requests, each once, in order.

What the other pages have, over https, is measured in the experiment itself (docs/synthetic.md).
"""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.shape import EVENT, PageShape, Resource, format_shapes, read_shapes
from tests.support.har_schema import assert_har
from tests.support.project_copy import experiment

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

URL = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
SAME_ORDER = 0.7
"""Kendall's tau (1 the same order, 0 unrelated), somewhat below what is measured: which host is faster can change."""


def asked(base: Path) -> list[str]:
    """Load the one page with tfo.py, at an RTT of 100 ms; return what its measured load asked for, in order."""
    experiment(base, "--delaynet", "50", "--tfo", "0", "--testruns", "2", "--quiet", "1")
    [har] = (base / "client" / "50-1-tfo-0").glob("*.har")
    return [entry["request"]["url"] for entry in assert_har(har)["entries"]]


@pytest.mark.timing
def test_chrome_makes_the_requests_of_the_shape(tmp_path: Path) -> None:
    (tmp_path / "small.pages").write_text(URL)
    make_pages(tmp_path, "small", 1)
    page, = make_page_set([shape for shape in read_shapes() if shape.url == URL], seed=1)
    urls = asked(tmp_path)
    assert Counter(urls) == Counter(page.urls)

    order = [page.urls.index(url) for url in urls]
    signs = [1 if first < second else -1 for first, second in combinations(order, 2)]
    assert sum(signs) / len(signs) > SAME_ORDER


def test_what_a_fetch_and_a_timer_lead_to_comes_before_the_load_event(tmp_path: Path) -> None:
    """Nothing else of this page takes long: without being held its load event would come first."""
    def resource(index: int, mime: str, kind: str, parent: int | None, idle_ms: int = 0, *,
                 after_load: bool = False) -> Resource:
        return Resource(index, "a.test", "http", mime, None, 6000, 20, parent, None, 10 * index, 10 * index + 5, kind,
                        idle_ms=idle_ms, after_load=after_load, way=EVENT)

    shape = PageShape("http://a.test/", "2026-11", [
        resource(0, "text/html", "document", None), resource(1, "application/json", "data", 0),
        resource(2, "image/png", "image", 1), resource(3, "image/png", "image", 0, idle_ms=1000),
        resource(4, "image/png", "image", 0, after_load=True)])
    (tmp_path / "Held.tsv").write_text(format_shapes([shape]))
    make_pages(tmp_path, "small", 1, tmp_path / "Held.tsv")
    page, = make_page_set([shape], seed=1)
    found = [page.urls.index(url) for url in asked(tmp_path)]
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert (found[0], found[-1]) == (0, 4)
    assert found.index(1) < found.index(2)
