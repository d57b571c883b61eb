"""The order of page loads: complete, TFO off and on side by side, neither favoured, and the same for the same seed."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.files.pages import Page
from harness.measure.plan import Load, plan_loads

seeds = st.integers(0, 2**32)
runs = st.integers(1, 7)
page_lists = st.integers(0, 6).map(lambda count: [Page(f"http://{index}.org", f"http{index}.org")
                                                  for index in range(count)])


def first_tfos(loads: list[Load], page: Page) -> list[int]:
    """Return which of TFO off and on was loaded first in each run of `page`."""
    own = [load for load in loads if load.page == page]
    return [own[place].tfo for place in range(0, len(own), 2)]


@settings(max_examples=40)
@given(pages=page_lists, testruns=runs, tfos=st.sampled_from([[0, 1], [0], [1]]), seed=seeds)
def test_every_load_is_there_once_and_runs_follow_each_other(pages: list[Page], testruns: int, tfos: list[int],
                                                             seed: int) -> None:
    loads = plan_loads(pages, testruns, tfos, seed)
    assert Counter(loads) == Counter(Load(page, run, tfo) for page in pages for run in range(testruns) for tfo in tfos)
    assert [load.run for load in loads] == sorted(load.run for load in loads)


@settings(max_examples=40)
@given(pages=page_lists, testruns=runs, seed=seeds)
def test_off_and_on_of_a_page_are_side_by_side_and_pages_keep_their_order(pages: list[Page], testruns: int,
                                                                          seed: int) -> None:
    loads = plan_loads(pages, testruns, [0, 1], seed)
    pairs = list(zip(loads[::2], loads[1::2], strict=True))
    assert all((a.page, a.run, {a.tfo, b.tfo}) == (b.page, b.run, {0, 1}) for a, b in pairs)
    assert [a.page for a, _ in pairs] == pages * testruns


@settings(max_examples=40)
@given(pages=page_lists, testruns=runs, seed=seeds)
def test_who_goes_first_alternates_from_run_to_run(pages: list[Page], testruns: int, seed: int) -> None:
    loads = plan_loads(pages, testruns, [0, 1], seed)
    for page in pages:
        first = first_tfos(loads, page)
        assert all(earlier != later for earlier, later in pairwise(first))
        assert abs(first.count(0) - first.count(1)) <= 1, "all runs"
        assert abs(first[1:].count(0) - first[1:].count(1)) <= 1, "the measured runs"


@settings(max_examples=40)
@given(pages=page_lists, testruns=runs, seed=seeds)
def test_warm_ups_may_be_over_fewer_transports(pages: list[Page], testruns: int, seed: int) -> None:
    every = plan_loads(pages, testruns, [0, 1], seed)
    assert plan_loads(pages, testruns, [0, 1], seed, [0]) == [load for load in every if load.run or not load.transport]


@settings(max_examples=40)
@given(pages=page_lists, testruns=runs, seed=seeds)
def test_same_seed_same_order(pages: list[Page], testruns: int, seed: int) -> None:
    assert plan_loads(pages, testruns, [0, 1], seed) == plan_loads(pages, testruns, [0, 1], seed)


def test_the_seed_decides_who_goes_first_and_over_seeds_neither_is_favoured() -> None:
    page = Page("http://a.org", "httpa.org")
    first = [plan_loads([page], 1, [0, 1], seed)[0].tfo for seed in range(400)]
    assert 160 <= sum(first) <= 240  # fixed seeds, so no luck in it; 4 sigma of a fair coin
