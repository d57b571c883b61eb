"""Which recorded answer a request gets: the rules of docs/replay.md."""

from pathlib import Path

import pytest

from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.pages import sanitise
from harness.files.server_log import FoundAs
from harness.measure.coverage import recorded_page
from harness.mirror.answers import RecordedAnswer
from harness.mirror.asked import Asked, hash_body
from harness.mirror.paths import write_file
from harness.replay.matching import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.written import HOST, Written, body, get

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"}
FETCH = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"}


@pytest.mark.parametrize(("server", "little"), [
    ("cloudflare", True), ("h2o/2.2.6", True), ("nginx/1.22.1", False), ("", False)])
def test_whose_urgent_answers_overtake_what_is_under_way(written: Written, server: str, little: bool) -> None:
    written.add("/", "page", headers=[("Server", server)] if server else [])
    assert written.site().keeps_little_unsent == little


def test_exact_comes_before_all_else(written: Written) -> None:
    written.add("/p?t=10000001", "first")
    written.add("/p?t=10000002", "second")
    site = written.site()
    answer = site.answer("/p?t=10000002")
    assert (body(written, answer), answer.found) == ("second", "plain")


def test_several_answers_of_one_url_come_in_recorded_order_and_the_last_from_then_on(written: Written) -> None:
    for text in ("waiting", "working", "done"):
        written.add("/poll", text)
    site = written.site()
    answers = [site.answer("/poll") for _ in range(5)]
    assert [body(written, answer) for answer in answers] == ["waiting", "working", "done", "done", "done"]
    assert len({answer.identity for answer in answers}) == 3
    assert {answer.found for answer in answers} == {"plain"}


def test_a_poll_hears_as_often_that_nothing_is_new_as_when_it_was_recorded(written: Written) -> None:
    """As from Express, Rails and nginx: 200, 304, 304, 200. What was new came with the second question."""
    for tag, status in (("1", 200), ("1", 304), ("1", 304), ("2", 200), ("2", 304)):
        written.add("/poll", tag if status == 200 else None, status=status, headers=[("ETag", f'W/"{tag}"')])
    written.add("/alone", "alone", headers=[("ETag", '"3"')])
    site = written.site()
    asked = [{}, *[{"if_none_match": 'W/"1"'}] * 3, *[{"if_none_match": 'W/"2"'}] * 3]
    answers = [get("/poll", site, **headers) for headers in asked]
    assert [body(written, answer) for answer in answers] == ["1", "1", "1", "2", "2", "2", "2"]
    assert len({answer.identity for answer in answers}) == 2
    assert [body(written, get("/alone", site)) for _ in range(2)] == ["alone", "alone"]


def test_who_does_not_ask_whether_it_still_holds_gets_the_next(written: Written) -> None:
    for tag, status in (("1", 200), ("1", 304), ("2", 200)):
        written.add("/poll", tag if status == 200 else None, status=status, headers=[("ETag", f'"{tag}"')])
    site = written.site()
    assert [body(written, get("/poll", site)) for _ in range(3)] == ["1", "2", "2"]


def test_each_load_begins_anew(written: Written, tmp_path: Path) -> None:
    written.add("/poll", "waiting")
    written.add("/poll", "done")
    make_mark(tmp_path / "mark")
    site = Site(written.read(), HOST, "https", LoadMark(tmp_path / "mark"))
    for _ in range(3):
        mark_load(tmp_path / "mark", "page")
        assert [body(written, site.answer("/poll")) for _ in range(3)] == ["waiting", "done", "done"]


def test_without_a_mark_silence_parts_loads(written: Written) -> None:
    written.add("/poll", "waiting")
    written.add("/poll", "done")
    now = [100.0]
    site = Site(written.read(), HOST, "https", clock=lambda: now[0])
    for seconds, text in ((0.0, "waiting"), (9.0, "done"), (9.0, "done"), (11.0, "waiting")):
        now[0] += seconds
        assert body(written, site.answer("/poll")) == text


def test_without_a_mark_a_navigation_to_another_page_begins_a_load(written: Written) -> None:
    for page in ("one", "two"):
        written.add(f"/{page}", page, page=sanitise(f"https://a.test/{page}"), asked=NAVIGATION)
        written.add("/ad", f"for {page}", page=sanitise(f"https://a.test/{page}"))
        written.add("/ad", "again", page=sanitise(f"https://a.test/{page}"), host="b.test")
    recording, mark = written.read(), LoadMark()
    first, second = (Site(recording, host, "https", mark) for host in (HOST, "b.test"))
    for page in ("two", "one", "two"):
        assert body(written, first.answer(f"/{page}", "GET", Asked(NAVIGATION))) == page
        assert body(written, first.answer("/ad")) == f"for {page}"
        assert second.answer("/ad").page == sanitise(f"https://a.test/{page}")
        assert body(written, first.answer(f"/{page}", "GET", Asked(NAVIGATION))) == page    # a page that reloads
        assert mark.read()[1] == sanitise(f"https://a.test/{page}")


def test_the_page_under_way_gets_what_its_own_log_has(written: Written, tmp_path: Path) -> None:
    written.add("/ad", "for one", page="one")
    written.add("/ad", "for two", page="two")
    written.add("/only", "of two", page="two")
    make_mark(tmp_path / "mark")
    site = Site(written.read(), HOST, "https", LoadMark(tmp_path / "mark"))
    for page in ("two", "one"):
        mark_load(tmp_path / "mark", page)
        assert [body(written, site.answer("/ad")) for _ in range(2)] == [f"for {page}"] * 2
    assert body(written, site.answer("/only")) == "of two"


def test_the_identity_is_the_same_for_exact_answers_and_stand_ins(written: Written, tmp_path: Path) -> None:
    written.add("/b?t=100000001", "it")
    site = written.site()
    exact, masked, similar = (site.answer(f"/b?t={value}") for value in ("100000001", "900000009", "x"))
    assert [answer.found for answer in (exact, masked, similar)] == ["plain", "masked", "best-match"]
    assert len({answer.identity for answer in (exact, masked, similar)}) == 1
    other = Written(tmp_path / "other")
    other.add("/b?t=777777777&more=1", "it")
    assert other.site().answer("/b?t=777777777&more=1").identity == exact.identity


def test_posts_are_told_apart_by_their_bodies(written: Written) -> None:
    for name in ("user", "cart"):
        written.add("/graphql", f"the {name}", method="POST", post=f'{{"query": "{name}", "at": 1363139399019}}')
    site = written.site()

    def post(text: str) -> RecordedAnswer:
        return site.answer("/graphql", "POST", Asked({}, hash_body(text.encode())))

    answers = [post(f'{{"query": "{name}", "at": {at}}}') for name, at in (
        ("cart", 1363139399019), ("user", 1363139399019), ("user", 1785000000000), ("cart", 1785000000000))]
    assert [body(written, answer) for answer in answers] == ["the cart", "the user", "the user", "the cart"]
    assert [answer.found for answer in answers] == ["plain", "plain", "masked", "masked"]
    assert post('{"query": "else"}').found == "best-match"


def test_a_post_without_a_body_answers_none_that_has_its_own_answer(written: Written) -> None:
    written.add("/api", "the list", method="POST")
    written.add("/api", "the item", method="POST", post='{"id": 1, "at": 1363139399019}')
    written.add("/api", "the list again", method="POST")
    site = written.site()

    def post(text: str) -> RecordedAnswer:
        return site.answer("/api", "POST", Asked({}, hash_body(text.encode())))

    item, later = '{"id": 1, "at": 1363139399019}', '{"id": 1, "at": 1785000000000}'
    answers = [post(text) for text in (later, item, item, "", "", "else")]
    assert [body(written, answer) for answer in answers] == [
        "the item", "the item", "the item", "the list", "the list again", "the list again"]
    assert [answer.found for answer in answers] == ["masked", *["plain"] * 5]


def test_a_body_counts_where_the_url_differs_by_its_time(written: Written) -> None:
    """The one without a body came first, and stood in for the other, too."""
    written.add("/collect?t=100000001", "for none", method="POST")
    written.add("/collect?t=200000002", "for one", method="POST", post='{"event": "click"}')
    site = written.site()
    for post, wanted in ((b'{"event": "click"}', "for one"), (b"", "for none"), (b'{"event": "seen"}', "for none")):
        answer = site.answer("/collect?t=300000003", "POST", Asked({}, hash_body(post)))
        assert (body(written, answer), answer.found) == (wanted, "masked")


def test_only_what_answered_a_navigation_answers_a_navigation(written: Written) -> None:
    written.add("/list", "the page", asked=NAVIGATION)
    written.add("/list", "a fragment", asked=FETCH | {"hx-request": "true"})
    written.add("/data", "[]", asked=FETCH)
    site = written.site()
    fetched, navigated = Asked(FETCH | {"hx-request": "true"}), Asked(NAVIGATION)
    answers = [site.answer("/list", "GET", asked) for asked in (fetched, navigated, fetched, navigated)]
    assert [body(written, answer) for answer in answers] == ["a fragment", "the page", "a fragment", "the page"]
    assert site.answer("/data", "GET", navigated).found == "missing"
    assert site.answer("/data?x=1", "GET", navigated).found == "missing"


def test_a_document_that_a_script_gets_is_a_stand_in(written: Written) -> None:
    """The server may have sent the script a fragment; that was not recorded."""
    written.add("/list", "the page", asked=NAVIGATION)
    site = written.site()
    fetched = site.answer("/list", "GET", Asked(FETCH | {"hx-request": "true"}))
    assert (body(written, fetched), fetched.found) == ("the page", "best-match")
    assert site.answer("/list", "GET", Asked(NAVIGATION)).found == "plain"
    assert site.answer("/list").found == "plain", "what asks is not known"


def test_over_http_a_navigation_is_known_by_what_only_navigations_send(written: Written) -> None:
    written.add("/list", "a fragment", asked={"accept": "*/*"})
    written.add("/list", "the page", asked={"accept": "text/html,*/*", "upgrade-insecure-requests": "1"})
    site = written.site()
    assert body(written, get("/list", site, accept="text/html", upgrade_insecure_requests="1")) == "the page"
    assert body(written, get("/list", site, accept="*/*")) == "a fragment"


def test_a_recording_that_marks_no_navigation_answers_navigations(written: Written) -> None:
    """As a crawler's archive: every request had the same headers."""
    written.add("/", "the page", asked={"accept": "*/*", "user-agent": "Wget/1.21"})
    assert body(written, written.site().answer("/", "GET", Asked(NAVIGATION))) == "the page"


def test_headers_that_vary_names_tell_answers_apart(written: Written) -> None:
    for language in ("de", "en"):
        written.add("/t", language, asked=FETCH | {"x-language": language}, headers=[("Vary", "X-Language")])
    site = written.site()
    assert [body(written, get("/t", site, x_language=language)) for language in ("en", "de", "en")] == [
        "en", "de", "en"]


@pytest.mark.parametrize(("name", "values"), [
    ("accept", ("application/json", "text/event-stream")), ("sec-fetch-dest", ("script", "image")),
    ("sec-fetch-mode", ("no-cors", "same-origin")), ("origin", ("https://a.test", "https://b.test"))])
def test_what_an_answer_is_for_tells_answers_apart(written: Written, name: str, values: tuple[str, str]) -> None:
    """No `Vary` says so, and the order is the other one."""
    for value in values:
        written.add("/t", value, asked=FETCH | {name: value})
    site = written.site()
    asked = [site.answer("/t", "GET", Asked(FETCH | {name: value})) for value in (*values[::-1], values[1])]
    assert [body(written, answer) for answer in asked] == [*values[::-1], values[1]]


def test_a_cookie_wall_that_reloads_keeps_its_wall(written: Written, tmp_path: Path) -> None:
    """Both answer 200: the wall, whose script sets a cookie, and the page."""
    written.add("/", "the wall", asked=NAVIGATION)
    written.add("/", "the page", asked=NAVIGATION | {"cookie": "agreed=1"})
    make_mark(tmp_path / "mark")
    site = Site(written.read(), HOST, "https", LoadMark(tmp_path / "mark"))
    for _ in range(2):
        mark_load(tmp_path / "mark", "page")
        asked = [Asked(NAVIGATION), *[Asked(NAVIGATION | {"cookie": "agreed=1"})] * 2]
        assert [body(written, site.answer("/", "GET", each)) for each in asked] == ["the wall", "the page", "the page"]


def test_a_browser_that_knew_to_ask_over_https_did_so_by_itself(written: Written) -> None:
    """HSTS: no server saw that redirect, so loads begin behind it."""
    internal = [("Non-Authoritative-Reason", "HSTS")]
    for host, headers in (("known", internal), ("asked", []), ("both", internal), ("both", [])):
        written.add("/", to=f"https://{host}.test/", host=f"{host}.test", headers=headers)
    for entry in written.pages["page"]:
        entry["request"]["url"] = entry["request"]["url"].replace("https", "http")
    recording = written.read()
    assert recording.asked_as("http://known.test/#x") == "https://known.test/#x"
    assert recording.asked_as("http://known.test") == "https://known.test"
    for url in ("http://asked.test/", "http://both.test/", "http://other.test/"):
        assert recording.asked_as(url) == url
    held = recorded_page(recording, written.directory / "Web", "page").sizes
    assert len(held) == 2, "what asked.test and both.test sent"


def test_a_gate_that_leads_back_to_the_page_ends_with_the_page(written: Written) -> None:
    written.add("/", to="https://a.test/gate", asked=NAVIGATION)
    written.add("/gate", "the gate", asked=NAVIGATION)
    written.add("/", "the page", asked=NAVIGATION | {"cookie": "agreed=1"})
    recording = written.read()
    assert [body(written, answer) for answer in recording.document_answers("https://a.test/")] == [
        "the gate", "the page"]


def test_what_a_load_does_not_ask_for_is_not_expected_of_it(written: Written) -> None:
    """Redirects, too: those of pictures further down, say, that only the recorder scrolled to."""
    written.add("/", "the question", asked=NAVIGATION, _beforeDocument=True)
    written.add("/question.js", "ask()", _beforeDocument=True)
    written.add("/", "the page", asked=NAVIGATION)
    written.add("/far-down", to="https://a.test/far-down.png", _afterLoad=True)
    written.add("/far-down.png", "it", _afterLoad=True)
    held = recorded_page(written.read(), written.directory / "Web", "page")
    assert [*held.sizes.values()] == [len("the page")]


def test_each_preflight_is_an_answer_of_its_own(written: Written, tmp_path: Path) -> None:
    """Always the last one was sent, another origin's or page's perhaps, and a load was said to lack the others."""
    for page in ("one", "two"):
        for origin in ("https://b.test", "https://b.test", "https://c.test"):
            written.add("/api", status=204, method="OPTIONS", page=page, asked={"origin": origin},
                        headers=[("Access-Control-Allow-Origin", origin)])
    recording = written.read()
    make_mark(tmp_path / "mark")
    site = Site(recording, HOST, "https", LoadMark(tmp_path / "mark"))
    for page in ("one", "two"):
        mark_load(tmp_path / "mark", page)
        asked = [Request("OPTIONS", "/api", Asked({"origin": origin})) for origin in (
            "https://c.test", "https://b.test", "https://b.test")]
        replies = [reply_to(site, {}, request) for request in asked]
        assert [dict(reply.headers)["access-control-allow-origin"] for reply in replies] == [
            request.asked.headers["origin"] for request in asked]
        held = recorded_page(recording, written.directory / "Web", page)
        assert {reply.answer for reply in replies} == held.sizes.keys() | held.alike.keys()
        assert len(held.sizes) == 2, "how often Chrome asks the same is chance"


def test_a_preflight_allows_what_it_is_asked_for(written: Written) -> None:
    """Of two that came in another order each got the other one's, and Chrome refused to send what the site allows."""
    allowed = {"PUT": "content-type", "DELETE": "x-token"}
    for method, name in allowed.items():
        written.add("/api", status=204, method="OPTIONS", headers=[
            ("Access-Control-Allow-Methods", method), ("Access-Control-Allow-Headers", name)], asked={
            "access-control-request-method": method, "access-control-request-headers": name})
    site = written.site()
    for method, name in [*allowed.items()][::-1]:
        reply = reply_to(site, {}, Request("OPTIONS", "/api", Asked({
            "access-control-request-method": method, "access-control-request-headers": name})))
        assert reply.headers == [("access-control-allow-methods", method), ("access-control-allow-headers", name)]


def test_what_answered_a_post_is_no_file_that_answers_a_get(written: Written) -> None:
    """It has its URL's name in the mirror, and would be found as a stand-in before the answer that it is."""
    for number in range(2):
        file = write_file(written.directory / "Web", f"https://{HOST}/api?n={number}", b"{}%d" % number).name
        written.add(f"/api?n={number}", method="POST", post=f'{{"t": {number}}}', _file=f"{HOST}/{file}",
                    headers=[("Access-Control-Allow-Origin", "https://b.test")])
    site = written.site()
    for number in range(2):
        answer = site.answer(f"/api?n={number}", "POST", Asked(FETCH, hash_body(b'{"t": 7}')))
        assert (answer.url, answer.found) == (f"https://{HOST}/api?n={number}", FoundAs.BEST_MATCH)
        assert answer.headers == (("access-control-allow-origin", "https://b.test"),)
    assert site.answer("/api?n=0", "GET", Asked(FETCH)).found == FoundAs.MISSING


def test_a_preflight_of_the_same_url_but_for_its_time(written: Written) -> None:
    """All was allowed, also what the site had refused, and a load was said to lack the recorded answer."""
    asked = {"origin": "https://b.test", "access-control-request-method": "PUT"}
    written.add("/api?t=100000001", status=403, method="OPTIONS", asked=asked)
    written.add("/api?t=100000001", "it", asked=FETCH)
    site = written.site()
    replies = [reply_to(site, {}, Request("OPTIONS", target, Asked(asked))) for target in (
        "/api?t=100000001", "/api?t=200000002", "/other")]
    assert [(reply.status, reply.found) for reply in replies] == [(403, "status"), (403, "masked"), (204, "status")]
    assert replies[0].answer == replies[1].answer != replies[2].answer == "-"


def test_a_page_that_posts_a_form_to_itself_may_end_with_its_answer(written: Written) -> None:
    written.add("/", "are you a robot?", asked=NAVIGATION)
    written.add("/", "the page", method="POST", asked=NAVIGATION, post="no=1")
    written.add("/", "{}", method="POST", asked=FETCH, post="what a script says")
    recording = written.read()
    answers = recording.document_answers("https://a.test/")
    assert [body(written, answer) for answer in answers] == ["are you a robot?", "the page"]


def test_a_method_as_a_script_writes_it(written: Written) -> None:
    """Of fetch's methods browsers write only six in capitals by themselves (Fetch, section 2.2.1): patch got 404."""
    written.add("/api", "patched", method="patch", post="{}")
    answer = written.site().answer("/api", "patch", Asked(FETCH, hash_body(b"{}")))
    assert (body(written, answer), answer.found) == ("patched", "plain")


def test_a_stream_of_events_is_sent_once_and_then_ended(written: Written) -> None:
    written.add("/events", "data: 1", headers=[("Content-Type", "text/event-stream")], _partial=True,
                _error="unfinished")
    site = written.site()
    first, second = site.answer("/events"), site.answer("/events")
    assert (body(written, first), first.found) == ("data: 1", "live")
    assert (second.status, second.found) == (204, "ended")


def test_failed_and_cached_exchanges_do_not_stand_in_the_way(written: Written) -> None:
    written.add("/x", status=0, _error="net::ERR_ABORTED")
    written.add("/x", "whole")
    written.add("/x", "cached", _fromCache="disk")
    written.add("/x", status=304)
    site = written.site()
    assert [body(written, site.answer("/x")) for _ in range(2)] == ["whole"] * 2


@pytest.mark.parametrize("target", ["/poll?op=begin", "/poll?at=1785000000000"])
def test_what_hung_hangs_for_nothing_that_a_load_event_waits_for(written: Written, target: str) -> None:
    for recorded in ("/poll?op=wait", "/poll?at=1363139399019"):
        written.add(recorded, status=0, asked=FETCH, _error="unfinished", time=2500, connection="1")
    written.add("/", "page", asked=NAVIGATION)
    site = written.site()
    assert site.answer(target, "GET", Asked(FETCH)).hangs
    for purpose in ("script", "image"):
        answer = site.answer(target, "GET", Asked(FETCH | {"sec-fetch-dest": purpose, "sec-fetch-mode": "no-cors"}))
        assert (answer.hangs, answer.found) == (False, FoundAs.MISSING)


def test_where_redirects_end_is_known_from_the_start(written: Written) -> None:
    """It took 10 ms for 300 redirects, in each server's first answer that is no exact one."""
    written.add("/beacon", to="https://b.test/nowhere")
    recording = written.read()
    Site(recording, HOST, "https")
    assert vars(recording)["unrecorded_ends"] == {"https://b.test/nowhere"}


def test_what_is_not_recorded_is_missing(written: Written) -> None:
    written.add("/x", "x")
    answer = written.site().answer("/y")
    assert (answer.status, answer.found, answer.identity) == (404, "missing", "-")


@pytest.mark.parametrize("asked", ["/1363139399019", "/deadbeef01", f"/{'0' * 32}"])
def test_a_file_named_by_an_md5_stands_in_for_no_number(written: Written, asked: str) -> None:
    long = "/a/long/path?" + "x" * 80
    written.add(long, "long")
    file = write_file(written.directory / "Web", f"https://{HOST}{long}", b"long").name
    site = written.site()
    assert site.answer(long).status == 200
    assert len(file) == 32
    assert site.answer(asked).found == FoundAs.MISSING


def test_transactions_of_a_page_have_identities_of_their_own(written: Written) -> None:
    written.add("/poll", "a")
    written.add("/poll", "b")
    written.add("/poll?x=1", "c")
    written.add("/poll", "d", method="POST")
    written.add("/poll", "e", page="other")
    recording = written.read()
    identities = [answer.identity for page in ("page", "other") for answer in recording.transactions(page)]
    assert len(set(identities)) == 5
