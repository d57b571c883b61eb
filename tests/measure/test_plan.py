"""The order of page loads: complete, TFO off and on side by side, neither favoured, and the same for the same seed."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.files.pages import Page
from harness.measure.plan import Load, plan_loads

PAGES = [Page(f"http://{index}.org", f"http{index}.org") for index in range(6)]


@settings(max_examples=100)
@given(count=st.integers(0, len(PAGES)), testruns=st.integers(1, 7), tfos=st.sampled_from([[0, 1], [0], [1]]),
       seed=st.integers(0, 2**32))
def test_a_plan(count: int, testruns: int, tfos: list[int], seed: int) -> None:
    """Every load once, run by run, in each the pages in their order; off and on side by side, and first in turns."""
    pages = PAGES[:count]
    loads = plan_loads(pages, testruns, tfos, seed)
    assert loads == plan_loads(pages, testruns, tfos, seed)
    groups = [loads[place:place + len(tfos)] for place in range(0, len(loads), len(tfos))]
    assert [(group[0].run, group[0].page) for group in groups] == [(run, page) for run in range(testruns)
                                                                   for page in pages]
    assert all({*group} == {Load(group[0].page, group[0].run, tfo) for tfo in tfos} for group in groups)
    for page in pages if len(tfos) == 2 else []:
        first = [group[0].tfo for group in groups if group[0].page == page]
        assert all(earlier != later for earlier, later in pairwise(first))


def test_the_seed_decides_who_goes_first_and_over_seeds_neither_is_favoured() -> None:
    page = Page("http://a.org", "httpa.org")
    first = [plan_loads([page], 1, [0, 1], seed)[0].tfo for seed in range(400)]
    assert 160 <= sum(first) <= 240  # fixed seeds, so no luck in it; 4 sigma of a fair coin
