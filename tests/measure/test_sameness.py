"""Which loads are the same page, whatever they lack; which differences make another one: tests/corpus/test_loads.py."""

from hypothesis import given
from hypothesis import strategies as st

from harness.measure.sameness import compared
from tests.support.made_record import made_answers, made_record

NAMES = ("page", "script", "picture", "beacon")


@given(st.lists(st.sets(st.sampled_from(NAMES)), max_size=6))
def test_every_load_gets_a_verdict_and_loads_that_got_the_same_are_one_page(lacking: list[set[str]]) -> None:
    urls = [[f"http://a.test/{name}" for name in NAMES if name not in lacks] for lacks in lacking]
    loads = [made_record(plt_ms=1000, answers=made_answers(*each, purpose="script")) for each in urls]
    found = compared(loads, [True] * len(loads))
    assert len(found) == len(loads)
    if all(each == urls[0] for each in urls):
        assert not any(found)
