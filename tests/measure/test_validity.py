"""Verdicts on single loads, whatever the numbers; what each rule says of which load: tests/corpus/test_loads.py."""


from hypothesis import given
from hypothesis import strategies as st

from harness.measure.rule import verdict_on_the_page
from harness.measure.validity import fastopen
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_record


def test_a_page_is_to_blame_if_one_load_says_so_and_none_is_good() -> None:
    lost, hollow = [accident("a packet was lost")], [of_the_page("62 of 68 requests failed")]
    assert verdict_on_the_page([hollow, []]) == []
    assert verdict_on_the_page([lost, []]) == []
    assert verdict_on_the_page([hollow, lost]) == verdict_on_the_page([lost, hollow]) == hollow
    assert verdict_on_the_page([lost, [accident("it was late")]]) == [accident("it was late")]


@given(hundreds=st.integers(1, 50))
def test_exactly_99_percent_is_enough_whatever_the_number(hundreds: int) -> None:
    assert not [*fastopen(made_record(tfo=1, run=1, connections_with_request=100 * hundreds,
                                      syn_data_connections=99 * hundreds))]
