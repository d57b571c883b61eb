"""The critical path of loads whose path is known: made ones, and real net-logs, for which it must at least be whole."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.causes import CLOCK_MS, dependencies
from harness.analysis.critical_path import critical_path
from harness.analysis.timeline import make_timeline
from harness.analysis.what_if import SYN_BYTES, SharedLink, saved_ms
from harness.measure.client_log import write_client_log
from tests.support.critical_paths import RTT_MS, assert_whole, connects, path_of, saving, timeline
from tests.support.made_har import PAGE, MadeLoad, chain
from tests.support.made_record import made_record

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"


def two_frames_with_one_script(*, cached_after: float = 5.0) -> MadeLoad:
    """Both frames ask for one script, which inserts an image; the second one `cached_after` ms after the first."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    frames = [load.add(f"http://ads.test/{number}", found + number, "document") for number in (1, 2)]
    fetched = load.add("http://lib.test/a.js#1", frames[0], referer="http://ads.test/1")
    asked = frames[0] + cached_after
    cached = load.add_cached("http://lib.test/a.js", asked, max(2.0, fetched + 2 - asked), referer="http://ads.test/2")
    load.plt_ms = load.add("http://img.test/i.gif", cached + 1, "image", referer="http://ads.test/2")
    return load


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


@pytest.mark.parametrize("hosts", [1, 2, 5])
def test_a_chain_of_hosts_has_a_handshake_each(hosts: int) -> None:
    load = chain(hosts)
    steps = path_of(load)
    assert len(connects(steps)) == hosts
    assert saving(load) == hosts * RTT_MS
    assert [step.kind for step in steps] == ["cpu", *["connect", "wait", "receive", "cpu"] * hosts]


def test_what_lies_beside_the_path_is_not_on_it() -> None:
    load = chain(3)
    load.add("http://beside.test/i.gif", 210, "image", wait=150)
    assert len(connects(path_of(load))) == 3
    assert saving(load) == 300


@pytest.mark.parametrize(("mode", "method", "on_path"), [
    ("no-cors", "POST", False), ("cors", "POST", True), ("cors", "GET", True), ("no-cors", "GET", True),
    ("no-cors", "HEAD", True)])
def test_a_beacon_sets_nothing_off(mode: str, method: str, on_path: bool) -> None:
    """A script asks for another one after 60 ms of work; meanwhile a beacon ends, or data that it waits for."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 3, "document", referer="")
    script = load.add("https://a.test/first.js", end + 2)
    load.add("https://a.test/gen_204", end + 2, "data", wait=155, fetched=("empty", mode),
             method=method)
    load.plt_ms = load.add("https://a.test/second.js", script + 60) + 3
    assert ("https://a.test/gen_204" in {step.url for step in path_of(load)}) is on_path


def test_a_redirected_beacon_does_not_hold_up_the_load_event() -> None:
    load = chain(2)
    load.add("https://a.test/b", 200, "data", wait=load.plt_ms - 301, redirect="https://a.test/c",
             fetched=("empty", "no-cors"), method="POST")
    assert "https://a.test/b" not in {step.url for step in path_of(load)}


def test_what_is_fetched_ahead_does_not_hold_up_the_load_event() -> None:
    load = chain(2)
    load.add("https://later.test/next.js", 200, wait=load.plt_ms - 301, fetched=("empty", "no-cors"))
    assert "https://later.test/next.js" not in {step.url for step in path_of(load)}


def test_what_is_fetched_ahead_over_http_says_so_too() -> None:
    """<link rel=prefetch> of a page: its answer was what the load event waited for."""
    load = chain(2)
    load.add("http://later.test/next.js", 200, wait=load.plt_ms - 301)
    assert "http://later.test/next.js" in {step.url for step in path_of(load)}
    load.entries[-1]["request"]["headers"].append({"name": "Sec-Purpose", "value": "prefetch"})
    assert "http://later.test/next.js" not in {step.url for step in path_of(load)}


def test_a_longer_chain_is_hidden_by_a_shorter_one_that_tfo_helps_less() -> None:
    """Chain of 5 handshakes (2 s without TFO, 1 s with it) beside an image that takes 1.6 s, with TFO 1.4 s."""
    load = chain(5)
    document_head = 3 + 100 + 100
    end = load.add("http://large.test/i.gif", document_head, "image", receive=load.plt_ms - 200 - document_head - 100)
    assert end < load.plt_ms
    assert len(connects(path_of(load))) == 5
    assert saving(load) == pytest.approx(2 * RTT_MS + load.plt_ms - end)


def test_six_images_at_once_are_one_round_and_a_seventh_waits_for_the_first_to_end() -> None:
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="", receive=1) + 2
    ends = [load.add(f"{PAGE}{number}.gif", found, "image", receive=10 + 10 * number) for number in range(6)]
    load.plt_ms = max(ends) + 2
    assert len(connects(path_of(load))) == 2
    assert saving(load) == 2 * RTT_MS
    seventh = load.add(f"{PAGE}7.gif", found, "image", queue=ends[0] + 1 - found, receive=40)
    load.plt_ms = seventh + 2
    steps = path_of(load)
    assert connects(steps) == [PAGE, f"{PAGE}0.gif", f"{PAGE}7.gif"]
    assert "queue" not in {step.kind for step in steps}
    assert saving(load) == 3 * RTT_MS


def test_a_queue_that_nothing_is_known_to_have_freed_is_a_step() -> None:
    load = MadeLoad(0.0)
    load.add(PAGE, 0, "document", referer="")
    load.plt_ms = load.add(f"{PAGE}1.gif", 202, "image", queue=300)
    assert [step.kind for step in path_of(load)][-3:] == ["queue", "connect", "wait"]
    assert saving(load) == 2 * RTT_MS


@pytest.mark.parametrize("image", ["http://css.test/i.gif", "http://img.test/i.gif"])
@pytest.mark.parametrize("after", ["style", "script"])
def test_what_a_style_sheet_draws_waits_for_what_it_is_drawn_with_too(image: str, after: str) -> None:
    """An element that a blocking script held up had a picture: the time until then was the processor's, 926 ms of it.

    Of a style sheet on another host than the image the Referer names the origin only.
    """
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    style = load.add("http://css.test/a.css", found, "style")
    first = load.add("http://js.test/a.js", found + 50)
    last = load.add("http://js.test/b.js", first + 1)
    referer = "http://css.test/a.css" if image.startswith("http://css.test/") else "http://css.test/"
    begun = (style if after == "style" else last) + 2
    load.plt_ms = load.add(image, begun, "image", referer=referer)
    steps = path_of(load)
    assert connects(steps)[1:-1] == (["http://css.test/a.css"] if after == "style"
                                     else ["http://js.test/a.js", "http://js.test/b.js"])
    assert sum(step.length_ms for step in steps if step.kind == "cpu") < 60


def test_what_comes_from_the_cache_waits_for_the_request_that_fetches_it() -> None:
    """Chrome holds the second of two requests until the first one's answer is in its cache. That wait was "cpu"."""
    load = two_frames_with_one_script()
    steps = path_of(load)
    assert len(connects(steps)) == 4
    assert sum(step.length_ms for step in steps if step.kind == "cpu") < 15
    assert saving(load) == 4 * RTT_MS


def test_what_is_in_the_cache_already_waits_for_nobody() -> None:
    load = two_frames_with_one_script(cached_after=300)
    steps = path_of(load)
    assert not any(step.kind == "wait" and step.url.startswith("http://lib.test/") for step in steps)
    assert connects(steps) == [PAGE, "http://ads.test/2", "http://img.test/i.gif"]


@pytest.mark.parametrize("think_ms", [0, 200])
def test_what_hints_name_waits_for_the_document_that_they_come_before(think_ms: int) -> None:
    """Over HTTP/2 the 103 is there after a round trip, the document when its server has thought."""
    load = MadeLoad(0.0)
    load.add(PAGE, 0, "document", referer="", wait=100 + think_ms)
    load.entries[-1]["response"]["_earlyHints"] = [{"name": "link", "value": "<//cdn.test/a.css>; rel=preload"}]
    load.plt_ms = load.add("http://cdn.test/a.css", 201, "style", receive=200) + 3
    assert connects(path_of(load)) == [PAGE, "http://cdn.test/a.css"]
    assert saving(load) == 2 * RTT_MS


def test_hints_for_a_frame_set_nothing_off() -> None:
    """Chrome heeds them for the page's own document only. The page's script asks for an image after 30 ms of work."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    script_end = load.add("http://cdn.test/s.js", end + 1)
    load.add(f"{PAGE}frame", end + 2, "document", connect=-1, connection=1, wait=250)
    load.entries[-1]["response"]["_earlyHints"] = [{"name": "link", "value": "<//cdn.test/a.css>; rel=preload"}]
    load.plt_ms = load.add("http://img.test/i.gif", script_end + 30, "image", wait=200) + 3
    assert connects(path_of(load)) == [PAGE, "http://cdn.test/s.js", "http://img.test/i.gif"]
    assert saving(load) == 3 * RTT_MS


def test_redirects_are_followed_back() -> None:
    load = MadeLoad(0.0)
    end = load.add("http://short.test/", 0, "document", referer="", redirect=PAGE)
    load.plt_ms = load.add(PAGE, end + 2, "document", referer="") + 1
    assert connects(path_of(load)) == ["http://short.test/", PAGE]


def test_requests_of_a_frame_wait_for_the_frame() -> None:
    """A script of another document that ended just before is not the cause: its Referer is another one."""
    load = MadeLoad(0.0)
    document = load.add(PAGE, 0, "document", referer="", receive=5)
    frame = load.add("http://frame.test/", document + 1, "document", receive=5)
    load.add("http://script.test/s.js", frame + 1 - 200, "script")
    load.plt_ms = load.add("http://image.test/i.gif", frame + 2, "image", referer="http://frame.test/") + 1
    assert connects(path_of(load)) == [PAGE, "http://frame.test/", "http://image.test/i.gif"]


@pytest.mark.parametrize(("request_bytes", "saved"), [(SYN_BYTES, 100), (SYN_BYTES + 1, 0)])
def test_a_request_too_long_for_a_syn_saves_nothing(request_bytes: int, saved: int) -> None:
    load = MadeLoad(0.0)
    load.plt_ms = load.add(PAGE, 0, "document", referer="", request_bytes=request_bytes) + 1
    assert saving(load) == saved


def test_what_never_ended_is_no_cause() -> None:
    load = chain(2)
    load.add("http://hung.test/", 50, "script", wait=load.plt_ms - 151, error="unfinished")
    assert "http://hung.test/" not in {step.url for step in path_of(load)}


def test_with_tfo_there_is_nothing_left_to_save() -> None:
    load = chain(4, connect=0)
    assert connects(path_of(load)) == []
    assert saving(load) == 0


@given(load=made_loads(), bw_mbit=st.floats(0.1, 1000))
def test_any_load_has_a_whole_path_and_tfo_never_costs_nor_saves_all(load: MadeLoad, bw_mbit: float) -> None:
    steps = path_of(load)
    found = timeline(load)
    link = SharedLink(bw_mbit)
    assert saved_ms(found, dependencies(found), RTT_MS, link=link) <= load.plt_ms + CLOCK_MS
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
