"""Synthetic pages in real Chrome, every host 100 ms and 4 Mbit/s away: their shape's requests, each once, in order.

What the other pages have, over https, is measured in the experiment itself (docs/synthetic.md).
"""

import shutil
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from harness.browser.program import Browser, find_browser
from harness.errors import InputError
from harness.synthetic.build import make_page_set, make_pages
from harness.synthetic.shape import EVENT, PageShape, Resource, format_shapes, read_shapes
from tests.support.slow_replay import compile_shim, load, serve

URL = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
SAME_ORDER_ALL = 0.7
SAME_ORDER_SIBLINGS = 0.8
"""Kendall's tau, somewhat below what harness/synthetic says was measured: which of two hosts is faster can change."""


@pytest.fixture(scope="module")
def browser() -> Browser:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for Chrome's shim")
    try:
        return find_browser()
    except InputError as error:
        pytest.skip(str(error))


def kendall_tau(groups: list[list[int]]) -> float:
    """Agreement of each group's order with the numbers' own: 1 the same, 0 unrelated, -1 reversed."""
    signs = [1 if first < second else -1 for group in groups for first, second in combinations(group, 2)]
    return sum(signs) / len(signs)


@pytest.mark.chrome
@pytest.mark.slow
@pytest.mark.timing
def test_chrome_makes_the_requests_of_the_shape(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "Own.pages").write_text(URL)
    make_pages(tmp_path, "Own", 1)
    page, = make_page_set([shape for shape in read_shapes() if shape.url == URL], seed=1)
    shim = compile_shim(tmp_path)
    with serve(tmp_path, "Own") as site:
        transactions = load(browser, shim, site, page.shape.url, least=len(page.urls))
    urls = [transaction.url for transaction in transactions]
    assert Counter(urls) == Counter(page.urls)
    assert sorted(site.requests) == sorted(page.urls)
    assert [transaction.url for transaction in transactions
            if transaction.error or transaction.status not in (200, 204, 302)] == []

    order = [page.urls.index(url) for url in urls]
    children: dict[int | None, list[int]] = {}
    for index in order:
        children.setdefault(page.shape.resources[index].parent, []).append(index)
    tau_all, tau_siblings = kendall_tau([order]), kendall_tau(list(children.values()))
    print(f"\n{page.shape.url}: {len(urls)} requests, tau {tau_all:.2f}, among siblings {tau_siblings:.2f}")
    assert tau_all > SAME_ORDER_ALL
    assert tau_siblings > SAME_ORDER_SIBLINGS


@pytest.mark.chrome
def test_what_a_fetch_and_a_timer_lead_to_comes_before_the_load_event(tmp_path: Path, browser: Browser) -> None:
    """Nothing else of this page takes long: without being held its load event would come first."""
    def resource(index: int, mime: str, kind: str, parent: int | None, idle_ms: int = 0, *,
                 after_load: bool = False) -> Resource:
        return Resource(index, "a.test", "http", mime, None, 6000, 20, parent, None, 10 * index, 10 * index + 5, kind,
                        idle_ms=idle_ms, after_load=after_load, way=EVENT)

    shape = PageShape("http://a.test/", "2026-11", (
        resource(0, "text/html", "document", None), resource(1, "application/json", "data", 0),
        resource(2, "image/png", "image", 1), resource(3, "image/png", "image", 0, idle_ms=1000),
        resource(4, "image/png", "image", 0, after_load=True)))
    (tmp_path / "Held.tsv").write_text(format_shapes([shape]))
    make_pages(tmp_path, "Held", 1, tmp_path / "Held.tsv")
    page, = make_page_set([shape], seed=1)
    with serve(tmp_path, "Held") as site:
        load(browser, compile_shim(tmp_path), site, shape.url, least=len(page.urls))
    asked = [page.urls.index(url) for url in site.requests]
    assert sorted(asked) == [0, 1, 2, 3, 4]
    assert (asked[0], asked[-1]) == (0, 4)
    assert asked.index(1) < asked.index(2)
