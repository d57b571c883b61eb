"""What a recording holds for a page, and how much of it a load got. What rules say: tests/corpus/test_loads.py."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from harness.files.exchange import Fate
from harness.files.load_parts import JUDGED, Coverage, ReceivedAnswer, ReceivedAnswers
from harness.files.load_record import LoadRecord
from harness.files.pages import sanitise
from harness.measure.coverage import (
    RecordedPage,
    at_any_time,
    coverage,
    failed_or_lost,
    recorded_page,
)
from harness.mirror.recording import Recording, read_recording
from tests.support.https_recording import HttpsRecording
from tests.support.made_record import made_record
from tests.support.replay_process import HOST
from tests.support.small_mirror import ICON, SmallMirror

REFUSED = "net::ERR_CONNECTION_REFUSED"


def answer(name: str, **known: Any) -> dict[str, Any]:
    return {"url": f"http://a.test/{name}", "kind": "exact", "identity": name, "status": 200, "bytes": 10, **known}


def load_of(*answers: dict[str, Any]) -> LoadRecord:
    return made_record(plt_ms=900, answers={"exact": 0, "stand_in": 0, "missing": 0, "failed": 0, "each": [*answers]})


def read(folder: Path, recorded: HttpsRecording, page: str) -> tuple[Recording, RecordedPage]:
    """Write the recording of a page; return what is read of it, and what it holds for the page."""
    recorded.finish(page)
    recording = read_recording(folder / "Web", folder / "Web.fetchlog")
    return recording, recorded_page(recording, folder / "Web", sanitise(page))


def test_what_hung_when_it_was_recorded_is_got_when_it_hangs() -> None:
    hung = answer("poll", kind="failed", status=0, error="unfinished", expected=True)
    answers = load_of(answer("page", identity="page"), hung).answers
    assert answers is not None
    assert coverage(answers, RecordedPage({"page": 9, "poll": 0})).got == 2


def test_of_a_page_that_loaded_itself_again_a_load_shows_the_last_document(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    bodies = [("", b"consent?"), ("", b"the page itself"), ("script.js", b"first"), ("script.js", b"other")]
    for number, (name, body) in enumerate(bodies):
        recorded.add(f"https://one.test/{name}", body, _file=f"one.test/{number}")
        (tmp_path / "Web" / "one.test" / f"{number}").write_bytes(body)
    for entry in recorded.entries[:2]:
        entry["request"]["headers"].append({"name": "Upgrade-Insecure-Requests", "value": "1"})
    _, held = read(tmp_path, recorded, "https://one.test/")
    assert sorted(held.sizes.values()) == [5, 5, len(b"the page itself")]


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
    recording, held = read(tmp_path, recorded, page)
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
    recording, held = read(tmp_path, recorded, page)
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
    _, held = read(tmp_path, recorded, page)
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
    _, held = read(tmp_path, recorded, page)
    assert [*held.urls.values()] == [page]
    own = answer("", url=f"https://idp.test/{name}")
    for known in ({"kind": "missing", "status": 404}, {"kind": "failed", "error": REFUSED}, {"error": "unfinished"}):
        assert not ReceivedAnswer(**{**own, **known}).is_one_of(JUDGED)


@pytest.mark.parametrize(("host", "counts"), [("b.test", True), ("c.test", False)])
def test_what_a_trial_loses_counts_at_any_time(host: str, counts: bool) -> None:
    """Without delay it came after the load event, with some before it: then no load of the experiment was valid."""
    held = RecordedPage(dict.fromkeys("012345678x", 9), urls={"x": "http://b.test/id-1/x"})
    tries = [answer(f"try {number}", url=f"http://{host}/id-{number}/x", identity="", kind="missing", status=404,
                    late=True) for number in range(3)]
    trial = load_of(*map(answer, "012345678"), *tries)
    assert not [*failed_or_lost(trial)]
    assert bool([*failed_or_lost(at_any_time(trial, held))]) == counts
    found = load_of(*map(answer, "012345678"), answer("x", late=True), *tries)
    assert not [*failed_or_lost(at_any_time(found, held))], "nothing was lost"


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
    _, held = read(tmp_path, made, page)
    assert (held.of_a_load, len(held.sizes), held.certain) == (True, 1, frozenset())


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
    recording, held = read(tmp_path, made, page)
    assert held.of_a_load != is_live
    certain = [url for url in made.urls if {answer.identity for answer in recording.exact_url(url)} & held.certain]
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
    _, held = read(tmp_path, made, page)
    assert (held.of_a_load, sorted(held.urls.values())) == (True, [page, f"{page}1.png"])
    assert {answer.url: (answer.slow_ms, answer.arrivals) for answer in held.paced.values()} == {
        page: (0, ((0, 2), (300, 4))), f"{page}poll": (700, ())}


def test_what_nobody_answered_after_the_load_event_is_nothing_that_a_recording_holds(tmp_path: Path) -> None:
    """A page that asks in vain until its recording ends would be a hollow one in every load."""
    recorded = HttpsRecording(tmp_path)
    page = "https://a.test/"
    recorded.add(page, b"page", (("Content-Type", "text/html"),))
    for number in range(5):
        recorded.add(f"{page}poll?{number}", status=0, _afterLoad=True)
    _, held = read(tmp_path, recorded, page)
    assert list(held.sizes.values()) == [4]
