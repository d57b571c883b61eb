"""Synthetic pages in an experiment, every host 100 ms away: their shape's requests, each once, in order.

What the other pages have, over https, is measured in the experiment itself (docs/synthetic.md).
"""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from harness.files.pages import sanitise
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.shape import EVENT, PageShape, Resource, format_shapes, read_shapes
from tests.support.har_schema import assert_har
from tests.support.project_copy import experiment

URL = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
SAME_ORDER = 0.7
"""Kendall's tau (1 the same order, 0 unrelated), somewhat below what is measured: which host is faster can change."""


HELD = PageShape("http://a.test/", "2026-11", [
    Resource(index, "a.test", "http", mime, None, 6000, 20, parent, None, 10 * index, 10 * index + 5, kind, way=EVENT,
             idle_ms=idle_ms, after_load=index == 4) for index, (mime, kind, parent, idle_ms) in enumerate([
                 ("text/html", "document", None, 0), ("application/json", "data", 0, 0), ("image/png", "image", 1, 0),
                 ("image/png", "image", 0, 1000), ("image/png", "image", 0, 0)])])
"""What a fetch and a timer lead to comes before the load event, and nothing else of this page takes long: without being
held its load event would come first.
"""


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
@pytest.mark.timing
def test_chrome_makes_the_requests_of_the_shape(tmp_path: Path) -> None:
    shapes = [*(shape for shape in read_shapes() if shape.url == URL), HELD]
    (tmp_path / "two.shape").write_text(format_shapes(shapes))
    make_pages(tmp_path, "small", 1, tmp_path / "two.shape")
    experiment(tmp_path, "--delaynet", "50", "--tfo", "0", "--testruns", "2", "--quiet", "1")
    orders = []
    for page in make_page_set(shapes, seed=1):
        log = assert_har(tmp_path / "client" / "50-1-tfo-0" / f"{sanitise(page.shape.url)}.har")
        urls = [entry["request"]["url"] for entry in log["entries"]]
        assert Counter(urls) == Counter(page.urls)
        orders.append([page.urls.index(url) for url in urls])
    signs = [1 if first < second else -1 for first, second in combinations(orders[0], 2)]
    assert sum(signs) / len(signs) > SAME_ORDER
    held = orders[1]
    assert (held[0], held[-1], held.index(1) < held.index(2)) == (0, 4, True)
