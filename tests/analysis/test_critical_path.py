"""The critical path of any load, made or from a real net-log, is whole (tests/corpus/paths.jsonl: what it is)."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.causes import CLOCK_MS, dependencies
from harness.analysis.critical_path import critical_path
from harness.analysis.timeline import make_timeline
from harness.analysis.what_if import Circumstances, SharedLink, saved_ms
from harness.measure.client_log import write_client_log
from tests.support.critical_paths import RTT_MS, assert_whole, path_of, saving, timeline
from tests.support.made_har import PAGE, MadeLoad
from tests.support.made_record import made_record

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"


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
        load.add(f"http://host{number % 3}.test/{number}", start, draw(kinds), queue=queue, dns=dns, connect=connect,
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
    steps = path_of(load)
    found = timeline(load)
    link = SharedLink(bw_mbit)
    assert saved_ms(found, dependencies(found), Circumstances(RTT_MS, link=link)) <= load.plt_ms + CLOCK_MS
    on_path = sum(min(RTT_MS, step.length_ms) for step in steps if step.kind == "connect")
    assert 0 <= saving(load) <= on_path + CLOCK_MS * (1 + len(load.entries)), "each cause may seem 2 ms late"


@pytest.mark.parametrize("scene", ["settled", "hanging"])
def test_real_loads_have_whole_paths(scene: str, tmp_path: Path) -> None:
    (tmp_path / "netlog.json").write_bytes(gzip.decompress((DATA / f"{scene}.json.gz").read_bytes()))
    timing = json.loads((DATA / f"{scene}.served.json").read_text())["timing"]
    since = timing["navigationStart"]
    entry = {name: timing[name] - since for name in ("responseStart", "domContentLoadedEventEnd", "loadEventEnd")}
    report = {"url": "http://a.test/", "time_origin_ms": since, "now_ms": 60_000.0, "timing": entry}
    record = made_record(**write_client_log(tmp_path, "page", tmp_path / "netlog.json", report))
    log = json.loads((tmp_path / "page.har").read_text())["log"]
    found = make_timeline(log, record, entry["loadEventEnd"])
    steps = critical_path(found, dependencies(found))
    assert_whole(steps, entry["loadEventEnd"])
    assert steps[1].url.startswith("http://a.test/")
    assert len({step.url for step in steps}) > 2
