"""What TFO saves of any load: its path is whole.

What the path of a load is, and how links are shared: tests/corpus/paths.jsonl and, of real loads, test_clients.py.
"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.causes import CLOCK_MS, dependencies
from harness.analysis.explanation import KINDS, critical_path
from harness.analysis.what_if import Circumstances, SharedLink, saved_ms
from tests.support.made_har import PAGE, MadeLoad

RTT_MS = 100


@st.composite
def made_loads(draw: st.DrawFn) -> MadeLoad:
    """Any load that can happen: requests anywhere, with any phases and causes, on connections that stand by then."""
    load = MadeLoad(0.0)
    times, kinds = st.integers(0, 300), st.sampled_from(["document", "style", "image", "script", "data"])
    ready = [draw(times)]               # of each connection: when it stands, in the order of their numbers
    load.add(PAGE, 0, "document", referer="", connect=ready[0], wait=draw(times), receive=draw(times))
    for number in range(draw(st.integers(0, 12))):
        reuse, start, queue, dns = draw(st.integers(0, len(ready))), draw(st.integers(0, 1500)), draw(times), draw(
            st.integers(-1, 5))
        connect = -1 if reuse else draw(times)
        if reuse:
            queue = max(queue, ready[reuse - 1] - start)
        else:
            ready.append(start + queue + max(0, dns) + connect)
        load.add(f"http://host{number % 3}.test/{number}", start, draw(kinds), blocked=queue, dns=dns, connect=connect,
                 connection=reuse, wait=draw(times), receive=draw(times),
                 referer=draw(st.sampled_from(["", PAGE, f"http://host{number % 2}.test/"])))
    for number in range(draw(st.integers(0, 3))):
        load.add_cached(f"http://host{number % 3}.test/{number}", draw(st.integers(0, 1500)), draw(times), draw(kinds))
    starts = sorted(draw(st.lists(st.integers(0, 2000), max_size=4, unique=True)))
    load.long_tasks = [(float(start), float(draw(st.integers(50, 400)))) for start in starts]
    load.plt_ms = draw(st.integers(1, 3000)) + draw(st.floats(0, 1))
    return load


@given(load=made_loads(), bw_mbit=st.floats(0.1, 1000))
def test_any_load_has_a_whole_path_and_tfo_never_costs_nor_saves_all(load: MadeLoad, bw_mbit: float) -> None:
    found = load.timeline()
    graph = dependencies(found)
    steps = critical_path(found, graph)
    assert (steps[0].start_ms, steps[-1].end_ms) == (0, load.plt_ms), "from 0 to the load event, gapless"
    assert all(step.end_ms == following.start_ms for step, following in pairwise(steps))
    assert all(step.length_ms > 0 and step.kind in KINDS for step in steps)
    assert saved_ms(found, graph, Circumstances(RTT_MS, link=SharedLink(bw_mbit))) <= load.plt_ms + CLOCK_MS
    on_path = sum(min(RTT_MS, step.length_ms) for step in steps if step.kind == "connect")
    late_ms = CLOCK_MS * (1 + len(load.entries))        # each cause may seem 2 ms late
    assert 0 <= saved_ms(found, graph, Circumstances(RTT_MS)) <= on_path + late_ms
