"""Hollow loads: too many requests failed, or too little of the recording came."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from harness.files.exchange import Fate
from harness.files.load_parts import JUDGED, Coverage, ReceivedAnswer, ReceivedAnswers
from harness.files.load_record import LoadRecord
from harness.files.pages import sanitise
from harness.files.reason_kinds import ReasonKind
from harness.measure import coverage as rules
from harness.measure.coverage import (
    RecordedPage,
    at_any_time,
    coverage,
    failed_or_lost,
    recorded_page,
)
from harness.measure.reason import Blame, Reason, texts
from harness.mirror.recording import read_recording
from tests.support.https_recording import HttpsRecording
from tests.support.made_reason import reasons_of
from tests.support.made_record import made_record
from tests.support.replay_process import HOST
from tests.support.small_mirror import ICON, SmallMirror

NOT_RESOLVED, REFUSED = "net::ERR_NAME_NOT_RESOLVED", "net::ERR_CONNECTION_REFUSED"


def answer(name: str, **known: Any) -> dict[str, Any]:
    return {"url": f"http://a.test/{name}", "kind": "exact", "identity": name, "status": 200, "bytes": 10, **known}


def failed(name: str, error: str = NOT_RESOLVED, host: str = "blog.example", **known: Any) -> dict[str, Any]:
    return answer(name, url=f"https://{host}/{name}", kind="failed", status=0, error=error,
                  **{"identity": "", **known})


def load_of(*answers: dict[str, Any], cover: tuple[int, int, int, int] | None = None, of_a_load: bool = False,
            **more: Any) -> LoadRecord:
    """Return a load with these answers; `cover` is recorded, its bytes, got, its bytes."""
    names = ("recorded", "recorded_bytes", "got", "got_bytes", "of_a_load")
    covered = dict(zip(names, (*cover, of_a_load), strict=True)) if cover else None
    received = {"exact": 0, "stand_in": 0, "missing": 0, "failed": 0, "each": list(answers), "coverage": covered}
    return made_record(**{"plt_ms": 900, "answers": received, **more})


def reasons(load: LoadRecord) -> list[Reason]:
    return reasons_of(failed_or_lost(load))


def compared(loads: list[LoadRecord], are_good: list[bool]) -> list[list[Reason]]:
    return [reasons_of(found) for found in rules.compared(loads, are_good)]


def good(count: int) -> list[dict[str, Any]]:
    return [answer(str(number)) for number in range(count)]


def test_a_page_of_which_most_failed_is_hollow_and_no_other_try_helps() -> None:
    hosts = ["blog.example", "cdn.example", "fonts.example", "ads.example"]
    [reason] = reasons(load_of(*good(6), *(failed(str(number), host=hosts[number % 4]) for number in range(62))))
    assert reason.text == ("62 of 68 requests failed: no such host (blog.example, cdn.example, fonts.example, …)")
    assert reason.blame == Blame.PAGE


@pytest.mark.parametrize(("count", "hollow"), [(0, False), (10, False), (11, True)])
def test_a_tenth_of_the_requests_may_fail(count: int, hollow: bool) -> None:
    requests = [*good(100 - count), *(failed(str(number)) for number in range(count))]
    assert bool(reasons(load_of(*requests))) == hollow


def test_failures_of_several_kinds_are_told_apart_and_a_dead_server_is_an_accident() -> None:
    missing = [answer(str(number), kind="missing", identity="", status=404) for number in range(3)]
    [reason] = reasons(load_of(*good(5), *missing, failed("x"), failed("y", REFUSED, "b.test")))
    assert reason.text == ("5 of 10 requests failed: 3 not in the recording (a.test); 1 no such host (blog.example); "
                           "1 connection refused (b.test)")
    assert reason.blame == Blame.ACCIDENT


def test_what_failed_when_it_was_recorded_makes_no_load_hollow_but_hides_nothing_else() -> None:
    expected = [failed(str(number), expected=True) for number in range(9)]
    assert reasons(load_of(*good(91), *expected, *(failed(f"more {number}") for number in range(10)))) == []
    assert reasons(load_of(*good(80), *expected, *(failed(f"more {number}") for number in range(11)))) != []


def test_what_hung_when_it_was_recorded_is_got_when_it_hangs() -> None:
    hung = failed("poll", "unfinished", identity="poll", expected=True)
    answers = load_of(answer("page", identity="page"), hung).answers
    assert answers is not None
    assert coverage(answers, RecordedPage({"page": 9, "poll": 0})).got == 2


@pytest.mark.parametrize("harmless", [
    {"late": True}, {"error": "net::ERR_ABORTED"}, {"error": "net::ERR_BLOCKED_BY_ORB"},
    {"kind": "missing", "url": "http://a.test/favicon.ico", "error": ""}])
def test_what_no_page_waits_for_is_no_failure(harmless: dict[str, Any]) -> None:
    assert reasons(load_of(*good(2), *({**failed(str(number)), **harmless} for number in range(20)))) == []


def test_what_chrome_keeps_from_the_page_since_it_is_no_answer_at_all_is_a_failure() -> None:
    """A 404 in the place of a picture: Chrome's opaque response blocking."""
    blocked = [answer(str(number), kind="missing", identity="", status=404, error="net::ERR_BLOCKED_BY_ORB")
               for number in range(3)]
    [reason] = reasons(load_of(*good(5), *blocked))
    assert (reason.text, reason.blame) == ("3 of 8 requests failed: not in the recording (a.test)", Blame.PAGE)


def test_a_recording_of_which_no_half_comes_is_unfit() -> None:
    [reason] = reasons(load_of(*good(9), cover=(139, 10**6, 69, 5)))
    assert reason.text == "got only 69 of the 139 answers that the recording holds for this page"
    assert reason.blame == Blame.PAGE
    assert reasons(load_of(*good(9), cover=(138, 10**6, 69, 5))) == []
    assert reasons(load_of(*good(9), cover=(0, 0, 0, 0))) == []


def test_a_load_without_a_load_event_has_a_reason_of_its_own() -> None:
    assert reasons(load_of(failed("x"), cover=(10, 10, 0, 0), plt_ms=None)) == []
    assert reasons(made_record(plt_ms=900)) == []


def verdicts(*covers: tuple[int, int, int, int]) -> list[list[str]]:
    return [texts(found) for found in compared([load_of(cover=cover) for cover in covers], [True] * len(covers))]


def test_a_load_gets_nine_tenths_of_what_the_recording_holds() -> None:
    whole, enough = (100, 9000, 100, 9000), (100, 9000, 90, 8100)
    few, small = (100, 9000, 89, 9000), (100, 9000, 95, 8000)
    assert verdicts(whole, enough, few, small) == [
        [], [], ["got 89 of the 100 answers that the recording holds"],
        ["got 8000 of the 9000 bytes that the recording holds"]]


def test_or_of_what_the_best_load_gets_where_the_recording_holds_more_than_any_load_asks_for() -> None:
    assert verdicts((200, 9000, 120, 5000), (200, 9000, 108, 4500), (200, 9000, 107, 4500)) == [
        [], [], ["got 107 of the 120 answers that the page's best load got"]]


def test_one_answer_less_than_usual_makes_no_page_hollow() -> None:
    """As with www.chipublib.org in a student's recording: 51 are 89.5% of all, but 98% of what the others got."""
    assert verdicts((57, 9000, 52, 9000), (57, 9000, 51, 9000), (57, 9000, 46, 9000)) == [
        [], [], ["got 46 of the 52 answers that the page's best load got"]]


def test_a_page_of_which_no_load_gets_what_one_asked_for_when_it_was_recorded_is_hollow() -> None:
    """Half of the answers, or all of them but a tenth of the bytes: all loads agree, and none is the page."""
    for cover, held in (((100, 9000, 55, 9000), "55 of the 100 answers"),
                        ((100, 9000, 95, 900), "900 of the 9000 bytes")):
        first, second = (load_of(cover=cover, of_a_load=True) for _ in range(2))
        for found in compared([first, second], [True, True]):
            [reason] = found
            assert reason.text.startswith(f"got {held} that the recording holds, and no load got more than ")
            assert reason.blame == Blame.PAGE
        assert compared([first], [True]) != [[]]
        assert compared([first], [False]) == [[]], "it was not good in the first place"
    assert compared([load_of(cover=(100, 9000, 90, 8100), of_a_load=True)], [True]) == [[]]
    better = load_of(cover=(100, 9000, 100, 9000), of_a_load=True)
    [[reason], []] = compared([load_of(cover=(100, 9000, 55, 9000), of_a_load=True), better], [True, True])
    assert reason.blame == Blame.ACCIDENT, "another load got it all"


def test_a_load_that_is_not_good_otherwise_is_not_the_best() -> None:
    loads = [load_of(cover=(200, 9000, got, 5000)) for got in (180, 120)]
    assert [bool(found) for found in compared(loads, [False, True])] == [False, False]
    assert compared(loads, [False, False]) == [[], []]
    assert compared([made_record(plt_ms=1)], [True]) == [[]]


def test_of_a_page_that_loaded_itself_again_a_load_shows_the_last_document(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    bodies = [("", b"consent?"), ("", b"the page itself"), ("script.js", b"first"), ("script.js", b"other")]
    for number, (name, body) in enumerate(bodies):
        recorded.add(f"https://one.test/{name}", body, _file=f"one.test/{number}")
        (tmp_path / "Web" / "one.test" / f"{number}").write_bytes(body)
    for entry in recorded.entries[:2]:
        entry["request"]["headers"].append({"name": "Upgrade-Insecure-Requests", "value": "1"})
    recorded.finish("https://one.test/")
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    sizes = recorded_page(recording, tmp_path / "Web", sanitise("https://one.test/")).sizes
    assert sorted(sizes.values()) == [5, 5, len(b"the page itself")]


def test_a_load_that_asked_once_for_what_came_twice_lacks_nothing(tmp_path: Path) -> None:
    """A page with an Early Hint: whether Chrome asks for its style sheet again is chance."""
    recorded = HttpsRecording(tmp_path)
    page = "https://one.test/"
    recorded.add(page, b"page", (("Content-Type", "text/html"),))
    for _ in range(3):
        recorded.add(f"{page}early.css", b"p {}")
    for query in (b"a", b"b"):
        recorded.add(f"{page}api", b"yes", method="POST")
        recorded.entries[-1]["request"]["postData"] = {"text": query.decode()}
    for _ in range(2):
        recorded.add(f"{page}seen", status=204)
    recorded.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    held = recorded_page(recording, tmp_path / "Web", sanitise(page))
    assert sorted(held.sizes.values()) == [0, 3, 3, 4, 4], "a beacon, answers to two queries, page, style sheet"
    sheets = [answer.identity for answer in recording.exact_url(f"{page}early.css")]
    for identities in (sheets[:1], sheets[1:], sheets):
        got = ReceivedAnswers(len(identities), 0, 0, 0, tuple(map(_received, identities)))
        assert (coverage(got, held).got, coverage(got, held).got_bytes) == (1, 4)


def test_a_page_that_loads_itself_again_may_do_so_once_less(tmp_path: Path) -> None:
    """What the first document asked for says the same as what the second did, and its answers are sent first."""
    recorded = HttpsRecording(tmp_path)
    page = "https://one.test/"
    for before in (True, False):
        for name in ("", "script.js"):
            recorded.add(f"{page}{name}", b"same", _beforeDocument=before)
    for entry in recorded.entries[::2]:
        entry["request"]["headers"].append({"name": "Upgrade-Insecure-Requests", "value": "1"})
    recorded.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    held = recorded_page(recording, tmp_path / "Web", sanitise(page))
    assert len(held.sizes) == 2
    for number in (0, 1):
        identities = [recording.exact_url(f"{page}{name}")[number].identity for name in ("", "script.js")]
        assert coverage(ReceivedAnswers(2, 0, 0, 0, tuple(map(_received, identities))), held).got == 2


def test_what_the_page_took_back_before_it_was_sent_lacks_nothing(tmp_path: Path) -> None:
    """fetch() with AbortSignal.timeout(300), at an RTT at which the handshake takes longer."""
    recorded = HttpsRecording(tmp_path)
    page = "https://one.test/"
    recorded.add(page, b"page")
    recorded.add(f"{page}slow", b"answer")
    recorded.finish(page)
    held = recorded_page(read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog"), tmp_path / "Web", sanitise(page))
    for error, count in (("net::ERR_ABORTED", 1), ("net::ERR_CONNECTION_REFUSED", 0)):
        unsent = replace(_received("", "failed"), url=f"{page}slow", error=error)
        assert coverage(ReceivedAnswers(0, 0, 0, 1, (unsent,)), held).got == count


def test_what_a_recording_holds_for_each_page(tmp_path: Path) -> None:
    mirror = SmallMirror(tmp_path)
    mirror.add("http://one.test/", f"<!doctype html>{ICON}")
    mirror.add("http://one.test/a.css", "p {}", "text/css")
    mirror.add_redirect("http://one.test/go", "http://one.test/a.css")
    base = mirror.finish("http://one.test")
    recording = read_recording(base / "small", base / "small.fetchlog")
    recorded = recorded_page(recording, base / "small", sanitise("http://one.test"))
    sizes = recorded.sizes
    assert sorted(sizes.values()) == [0, 4, len(f"<!doctype html>{ICON}")]
    assert not recorded.of_a_load, "a text log lists what a scraper stored"
    assert recorded_page(recording, base / "small", "another") == RecordedPage({})
    style_answer = recording.exact("http", "one.test", "/a.css")[0]
    recording.answers["http", "one.test"]["GET", "/a.css"] = (replace(
        style_answer, exchange=changed(style_answer.exchange, fate=Fate.AFTER_LOAD)),)
    assert 4 not in recorded_page(recording, base / "small", sanitise("http://one.test")).sizes.values()
    style = next(identity for identity, size in sizes.items() if size == 4)
    got = ReceivedAnswers(2, 0, 0, 0, tuple(_received(identity) for identity in (style, style, "other")))
    assert coverage(got, recorded) == Coverage(3, sum(sizes.values()), 1, 4,
                                               lost=("http://one.test/", "http://one.test/go"))
    assert coverage(ReceivedAnswers(0, 0, 1, 0, (_received(style, "missing"),)), recorded).got == 0
    assert coverage(ReceivedAnswers(0, 0, 0, 0, from_cache=(style, "")), recorded).got == 1
    for error, count in (("net::ERR_ABORTED", 1), ("net::ERR_CONNECTION_RESET", 0)):
        broken_off = replace(_received(style, "failed"), error=error)
        covered = coverage(ReceivedAnswers(0, 0, 0, 1, (broken_off,)), recorded)
        assert covered.got == count, "by the page, or by the server"


@pytest.mark.parametrize(("answers", "bytes_got"), [
    ([{"wire_bytes": 9}], 9), ([{"wire_bytes": 0}], 0), ([{"wire_bytes": 4}, {"wire_bytes": 3}], 7),
    ([{"wire_bytes": 99}], 9), ([{"wire_bytes": None}], 9),
    ([{"wire_bytes": 1, "status": 206}], 9), ([{"wire_bytes": 0, "status": 304}], 9),
    ([{"wire_bytes": 2, "error": "net::ERR_ABORTED"}], 9), ([{"wire_bytes": 2, "error": "unfinished"}], 9)])
def test_what_came_of_a_body_counts_and_not_what_was_recorded(answers: list[dict[str, Any]], bytes_got: int) -> None:
    each = tuple(ReceivedAnswer(**answer("x", **known)) for known in answers)
    cover = coverage(ReceivedAnswers(len(each), 0, 0, 0, each), RecordedPage({"x": 9}, urls={"x": "http://a.test/x"}))
    assert (cover.got, cover.got_bytes, cover.lost) == (1, bytes_got, ())


@pytest.mark.parametrize("name", ["favicon.ico", "manifest.json", "site.webmanifest"])
def test_what_a_browser_asks_for_on_its_own_time_is_of_no_page(tmp_path: Path, name: str) -> None:
    """A page behind a sign-in: Chrome asks the host of the form for its picture, or not in time."""
    page = "https://one.test/"
    recorded = HttpsRecording(tmp_path)
    recorded.add(page, b"page", (("Content-Type", "text/html"),))
    recorded.add(f"https://idp.test/{name}", b"not found", status=404)
    recorded.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    assert [*recorded_page(recording, tmp_path / "Web", sanitise(page)).urls.values()] == [page]
    own = answer("", url=f"https://idp.test/{name}")
    for known in ({"kind": "missing", "status": 404}, {"kind": "failed", "error": REFUSED}, {"error": "unfinished"}):
        assert not ReceivedAnswer(**{**own, **known}).is_one_of(JUDGED)
        assert reasons(load_of(answer("page"), {**own, **known})) == []


@pytest.mark.parametrize(("host", "counts"), [("b.test", True), ("c.test", False)])
def test_what_a_trial_loses_counts_at_any_time(host: str, counts: bool) -> None:
    """Without delay it came after the load event, with some before it: then no load of the experiment was valid."""
    held = RecordedPage(dict.fromkeys("012345678x", 9), urls={"x": "http://b.test/id-1/x"})
    tries = [answer(f"try {number}", url=f"http://{host}/id-{number}/x", identity="", kind="missing", status=404,
                    late=True) for number in range(3)]
    trial = load_of(*good(9), *tries)
    assert reasons(trial) == []
    assert bool(reasons(at_any_time(trial, held))) == counts
    found = load_of(*good(9), answer("x", late=True), *tries)
    assert reasons(at_any_time(found, held)) == [], "nothing was lost"


def test_a_reason_names_what_was_lost() -> None:
    lost = Coverage(10, 100, 8, 80, of_a_load=True, lost=("http://b.test/id-1/x", "http://b.test/y"))
    load = load_of(*good(8))
    assert load.answers
    [[reason]] = compared([replace(load, answers=replace(load.answers, coverage=lost))], [True])
    assert all(url in reason.text for url in lost.lost)


def test_requests_that_the_cache_answered_did_not_fail() -> None:
    assert texts(reasons(load_of(*good(6), failed("x")))) == ["1 of 7 requests failed: no such host (blog.example)"]
    again = load_of(*good(6), failed("x"))
    assert again.answers
    assert reasons(replace(again, answers=replace(again.answers, from_cache=("",) * 21))) == []


def _received(identity: str, kind: Any = "exact") -> ReceivedAnswer:
    return ReceivedAnswer("http://one.test/", kind, identity, 200, 4)


def test_a_live_connection_that_told_the_page_to_ask_for_nothing_is_no_matter(tmp_path: Path) -> None:
    """A chat that a page opens after its load event: it is held to all the bytes that it asked for before."""
    page = f"https://{HOST}/"
    made = HttpsRecording(tmp_path)
    made.add(page, b"page", startedDateTime="2026-11-26T10:00:00.000Z")
    made.add(f"{page}chat", b"data: hello\n\n", (("Content-Type", "text/event-stream"),), _partial=True,
             _afterLoad=True, startedDateTime="2026-11-26T10:00:01.000Z", _arrivals=[[50, 13]])
    made.add(f"{page}hello.png", b"GIF", _afterLoad=True, startedDateTime="2026-11-26T10:00:02.000Z")
    made.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    recorded = recorded_page(recording, tmp_path / "Web", sanitise(page))
    assert (recorded.of_a_load, len(recorded.sizes), recorded.certain) == (True, 1, frozenset())


@pytest.mark.parametrize("is_live", [False, True])
def test_a_page_with_live_connections_is_not_held_to_what_one_load_asked_for(tmp_path: Path, is_live: bool) -> None:
    """A picture that a message brings is before the load event or after it; a trial that was faster got 3 of 4."""
    page = f"https://{HOST}/"
    made = HttpsRecording(tmp_path)
    made.add(page, b"<script>new EventSource('/news')</script>", (("Content-Type", "text/html"),))
    if is_live:
        made.add(f"{page}news", b"data: /1.png\n\n", (("Content-Type", "text/event-stream"),), _partial=True,
                 startedDateTime="2026-11-26T10:00:00.000Z", timings={"wait": 100}, _arrivals=[[50, 15]])
    for second, name in ((0.140, "0.png"), (0.160, "1.png")):
        made.add(f"{page}{name}", b"GIF", startedDateTime=f"2026-11-26T10:00:0{second:.3f}Z")
    made.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    recorded = recorded_page(recording, tmp_path / "Web", sanitise(page))
    assert recorded.of_a_load != is_live
    certain = [url for url in made.urls if {answer.identity for answer in recording.exact_url(url)} & recorded.certain]
    assert certain == ([page, f"{page}news", f"{page}0.png"] if is_live else []), "what it was not told to ask for"


def test_no_load_is_held_to_a_long_poll_but_to_all_of_what_came_in_pieces(tmp_path: Path) -> None:
    page = f"https://{HOST}/"
    made = HttpsRecording(tmp_path)
    began = "2026-11-26T10:00:00.000Z"
    made.add(page, b"page", (("Content-Type", "text/html"),), startedDateTime=began, timings={"wait": 20},
             _arrivals=[[0, 2], [300, 4]])
    made.add(f"{page}poll", b"noop", startedDateTime=began, timings={"wait": 700})
    made.entries[-1]["request"]["headers"] = [{"name": "Sec-Fetch-Dest", "value": "empty"}]
    made.add(f"{page}1.png", b"GIF", startedDateTime="2026-11-26T10:00:01.000Z", timings={"wait": 20})
    made.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    recorded = recorded_page(recording, tmp_path / "Web", sanitise(page))
    assert (recorded.of_a_load, sorted(recorded.urls.values())) == (True, [page, f"{page}1.png"])
    assert {answer.url: (answer.slow_ms, answer.arrivals) for answer in recorded.paced.values()} == {
        page: (0, ((0, 2), (300, 4))), f"{page}poll": (700, ())}


def test_a_page_with_live_connections_is_held_to_what_it_asks_for_before_they_say_anything() -> None:
    def load(got_certain: int) -> LoadRecord:
        made = load_of(cover=(100, 9000, 80, 8000))
        assert made.answers
        assert made.answers.coverage
        cover = replace(made.answers.coverage, certain=50, got_certain=got_certain)
        return replace(made, answers=replace(made.answers, coverage=cover))

    assert compared([load(45)], [True]) == [[]]
    for are_good, blame in (([True, True], Blame.ACCIDENT), ([True, False], Blame.PAGE)):
        [[reason], none] = compared([load(44), load(45)], are_good)
        assert (reason.kind, reason.blame, none) == (ReasonKind.LITTLE_BEFORE_MESSAGES, blame, [])


def test_what_nobody_answered_after_the_load_event_is_nothing_that_a_recording_holds(tmp_path: Path) -> None:
    """A page that asks in vain until its recording ends would be a hollow one in every load."""
    recorded = HttpsRecording(tmp_path)
    page = "https://a.test/"
    recorded.add(page, b"page", (("Content-Type", "text/html"),))
    for number in range(5):
        recorded.add(f"{page}poll?{number}", status=0, _afterLoad=True)
    recorded.finish(page)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    assert list(recorded_page(recording, tmp_path / "Web", sanitise(page)).sizes.values()) == [4]
