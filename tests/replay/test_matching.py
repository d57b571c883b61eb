"""Which recorded answer a request gets: the cases of docs/replay.md, each a test."""

import re
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.load_mark import LoadMark, make_mark, mark_load
from harness.files.pages import sanitise
from harness.files.server_log import FoundAs
from harness.measure.coverage import recorded_page
from harness.mirror.answers import RecordedAnswer
from harness.mirror.asked import Asked, hash_body
from harness.mirror.paths import write_file
from harness.replay.site import Site
from tests.support.written import HOST, Written

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "accept": "text/html"}
FETCH = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty", "accept": "*/*"}


def body(written: Written, answer: RecordedAnswer) -> str | None:
    """Return the text that an answer has for its body."""
    if answer.file is None:
        return None
    return (written.directory / "Web" / (answer.file_host or HOST) / answer.file).read_text()


def get(path: str, site: Site, **headers: str) -> RecordedAnswer:
    """Ask for `path` with these headers."""
    return site.answer(path, "GET", Asked({name.replace("_", "-"): value for name, value in headers.items()}))


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


@pytest.mark.parametrize(("recorded", "asked"), [
    ("/b?t=1363139399019&x=1", "/b?t=1785000000000&x=1"), ("/b?r=0.8237498237&x=1", "/b?r=0.1&x=1"),
    ("/b/4f1a9c2e77", "/b/00aa11bb22"), ("/b?id=3fa85f64-5717-4562-b3fc-2c963f66afa6", "/b?id=" + "0" * 8 + "-0000" * 3
                                         + "-" + "0" * 12), ("/b?_=12&x", "/b?_=13&x"), ("/b?cb=ab", "/b?cb=cd"),
    ("/event/WPi3WwXM1363139394945/x", "/event/0NgFUjDm1363348800000/x"),
    ("/x;src=1;ord=565.4?", "/x;src=1;ord=1.2?"), ("/j?callback=jQuery18_136&x", "/j?callback=jQuery19_9&x"),
])
def test_volatile_values_do_not_count(written: Written, recorded: str, asked: str) -> None:
    written.add("/b?other=1", "other")
    written.add(recorded, "this")
    answer = written.site().answer(asked)
    assert (body(written, answer), answer.found) == ("this", "masked")


def test_versions_in_a_path_are_not_volatile(written: Written) -> None:
    written.add("/jquery-1.8.js", "8")
    assert written.site().answer("/jquery-1.9.js").found == "missing"


def test_the_same_path_with_most_parameters_in_common(written: Written) -> None:
    written.add("/p?id=1&size=big&kind=a", "one")
    written.add("/p?id=2&size=big&kind=a", "two")
    site = written.site()
    answer = site.answer("/p?kind=a&id=2&size=small")
    assert (body(written, answer), answer.found) == ("two", "best-match")
    assert site.answer("/q?id=1").found == "missing"


def test_what_nobody_answered_stands_in_for_nothing_that_was_answered(written: Written) -> None:
    written.add("/b?id=1&size=big", status=0)
    written.add("/b?id=2&size=small", "two")
    written.add("/c?id=1", status=0)
    site = written.site()
    assert body(written, site.answer("/b?id=3&size=big")) == "two"
    assert site.answer("/b?id=1&size=big").found == "unanswered"
    assert (site.answer("/c?id=2").status, site.answer("/c?id=3").found) == (504, "best-match")


def test_a_volatile_path_with_most_parameters_in_common(written: Written) -> None:
    written.add("/ss/s67156107604969?t=1%2F2&page=home", "home")
    written.add("/ss/s67156107604970?t=1%2F2&page=away", "away")
    answer = written.site().answer("/ss/s66643502558581?t=5%2F6&page=away")
    assert (body(written, answer), answer.found) == ("away", "best-match")


def test_parameters_in_a_path(written: Written) -> None:
    written.add("/pixel;r=12;a=x;et=5", "x")
    written.add("/pixel;r=13;a=y;et=5", "y")
    written.add("/batch/u%3Fa%3D1%26b%3D2", "batch")
    site = written.site()
    assert body(written, site.answer("/pixel;r=99;a=y;et=6")) == "y"
    assert body(written, site.answer("/batch/u%3Fa%3D1%26b%3D3")) == "batch"


def test_another_size_of_an_image(written: Written) -> None:
    written.add("/up/photo.jpeg", "full")
    written.add("/up/other-100x100.jpeg", "small")
    site = written.site()
    answer = site.answer("/up/photo-640x427.jpeg")
    assert (body(written, answer), answer.found) == ("full", "best-match")
    assert body(written, site.answer("/up/other-640x427.jpeg")) == "small"
    assert site.answer("/up/third-640x427.jpeg").found == "missing"


def test_a_font_in_the_format_that_an_older_browser_took(written: Written) -> None:
    written.add("/fonts/sans-bold.woff?v=4.7.0", "bold")
    written.add("/fonts/sans.3dbb99f1f598.woff", "sans")
    written.add("/fonts/serif.eot", "for Internet Explorer alone")
    site = written.site()
    answer = site.answer("/fonts/sans-bold.woff2?v=4.7.0")
    assert (body(written, answer), answer.found) == ("bold", "best-match")
    assert body(written, site.answer("/fonts/sans.a5c53205f303.woff2")) == "sans"
    for path in ("/fonts/serif.woff2", "/fonts/sans-bold.svg", "/fonts/other.woff2"):
        assert site.answer(path).found == "missing"


def test_typekits_fonts_name_their_format_in_a_letter(written: Written) -> None:
    written.add("/af/1823ac/000000000000000000012059/27/d?subset_id=1&fvd=n4&v=3", "regular", host="use.typekit.net")
    written.add("/af/555f76/00000000000000000001205a/27/d?subset_id=1&fvd=i4&v=3", "italic", host="use.typekit.net")
    site = Site(written.read(), "use.typekit.net", "https")
    answer = site.answer("/af/555f76/00000000000000000001205a/27/l?subset_id=1&fvd=i4&v=3")
    assert answer.found == "best-match"
    assert "/af/555f76/" in answer.url


def test_an_image_in_the_format_that_an_older_browser_took(written: Written) -> None:
    written.add("/photo.jpg", "photo")
    written.add("/logo.png", "logo")
    site = written.site()
    for path, text in (("/photo.webp", "photo"), ("/photo.jpg.webp", "photo"), ("/logo.avif", "logo")):
        answer = site.answer(path)
        assert (body(written, answer), answer.found) == (text, "best-match")
    assert site.answer("/photo.gif").found == "missing"     # no browser takes an older format than another one took


def test_stand_ins_that_are_equally_alike_take_turns(written: Written) -> None:
    written.add("/b?t=100000001", "first")
    written.add("/b?t=200000002", "second")
    site = written.site()
    assert [body(written, site.answer(f"/b?t={number}")) for number in (300000003, 400000004, 500000005)] == [
        "first", "second", "second"]


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


def test_a_page_that_posts_a_form_to_itself_may_end_with_its_answer(written: Written) -> None:
    written.add("/", "are you a robot?", asked=NAVIGATION)
    written.add("/", "the page", method="POST", asked=NAVIGATION, post="no=1")
    written.add("/", "{}", method="POST", asked=FETCH, post="what a script says")
    recording = written.read()
    answers = recording.document_answers("https://a.test/")
    assert [body(written, answer) for answer in answers] == ["are you a robot?", "the page"]


def test_a_redirect_through_the_same_url_keeps_its_steps_by_order(written: Written) -> None:
    written.add("/", to="https://a.test/check")
    written.add("/check", to="https://a.test/")
    written.add("/", to="https://a.test/home")
    written.add("/home", "home")
    site = written.site()
    steps = [site.answer(path) for path in ("/", "/check", "/", "/home")]
    assert [answer.redirect_url for answer in steps] == [
        "https://a.test/check", "https://a.test/", "https://a.test/home", None]


def test_a_redirect_through_the_same_url_keeps_its_steps_by_cookie(written: Written) -> None:
    written.add("/", to="https://a.test/set")
    written.add("/", "home", asked={"cookie": "seen=1"})
    site = written.site()
    assert get("/", site, cookie="seen=1").status == 200
    assert [get("/", site, cookie="other=1").status for _ in range(2)] == [302, 302]


def test_a_stand_in_is_no_redirect_to_itself(written: Written) -> None:
    """nytimes 2013: a beacon sends its cookie's redirect, whose end was not recorded."""
    written.add("/dcs.gif?t=1363139399378", to="https://a.test/dcs.gif?redirect=126&t=1363139399378")
    site = written.site()
    first = site.answer("/dcs.gif?t=1785000000000")
    assert (first.redirect_url, first.found) == ("https://a.test/dcs.gif?redirect=126&t=1363139399378", "masked")
    second = site.answer("/dcs.gif?redirect=126&t=1363139399378")
    assert (second.status, second.redirect_url, second.found) == (204, None, "ended")


@pytest.mark.parametrize(("written_as", "asked_as"), [
    ("https://a.test?redirect=126&t=1363139399378", "/?redirect=126&t=1363139399378"),
    ("HTTPS://A.test:443/px?redirect=126&t=1363139399378#x", "/px?redirect=126&t=1363139399378"),
    ("https://a.test/p x?n=\u00fc&redirect=126&t=1363139399378", "/p%20x?n=%C3%BC&redirect=126&t=1363139399378")])
def test_that_holds_however_its_end_was_written(written: Written, written_as: str, asked_as: str) -> None:
    """A browser asks for what the standard makes of a URL, and not as some server wrote it."""
    path = asked_as.partition("?")[0]
    written.add(f"{path}?t=1363139399378", to=written_as)
    site = written.site()
    assert site.answer(f"{path}?t=1785000000000").redirect_url, "the redirect itself"
    assert (site.answer(asked_as).status, site.answer(asked_as).redirect_url) == (204, None)


def test_a_recorded_end_is_found_however_the_redirect_was_written(written: Written) -> None:
    written.add("/go?ord=1", to="HTTPS://A.test:443/next?s=5")
    written.add("/next?s=5", to="https://a.test/end")
    written.add("/end", "end")
    recording = written.read()
    assert recording.exact_url("HTTPS://A.test:443/next?s=5#top")
    assert "https://a.test/next?s=5" not in recording.unrecorded_ends


def test_a_chain_of_redirects_across_hosts_ends_after_what_was_recorded(written: Written) -> None:
    written.add("/sync?u=1", to="https://b.test/match?u=1")
    written.add("/match?u=7", to="https://a.test/sync?u=2", host="b.test")
    recording = written.read()
    sites = {host: Site(recording, host, "https") for host in (HOST, "b.test")}
    url, hops = "https://a.test/sync?u=9", 0
    while url:
        host, _, target = url.removeprefix("https://").partition("/")
        answer = sites[host].answer(f"/{target}")
        url, hops = answer.redirect_url or "", hops + 1
        assert hops < 5
    assert (answer.status, answer.found) == (204, "ended")


def test_a_stand_in_after_a_recorded_redirect_may_redirect_where_that_ends(written: Written) -> None:
    written.add("/go?ord=1", to="https://a.test/next?s=5")
    written.add("/next?s=4", to="https://a.test/end")
    written.add("/end", "end")
    site = written.site()
    assert site.answer("/next?s=5").redirect_url == "https://a.test/end"


def test_a_recorded_loop_is_walked_once(written: Written) -> None:
    written.add("/a", to="https://a.test/b")
    written.add("/b", to="https://a.test/a")
    site = written.site()
    assert [site.answer(path).status for path in ("/a", "/b", "/a")] == [302, 302, 204]


def test_a_redirect_asked_for_again_is_answered_again(written: Written) -> None:
    written.add("/pixel", to="https://a.test/gone")
    site = written.site()
    assert [site.answer("/pixel").status for _ in range(3)] == [302] * 3


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


def test_every_case_of_the_documentation_is_a_test() -> None:
    named = re.findall(r"`(test_\w+)` \|$", (ROOT / "docs" / "replay.md").read_text(), re.MULTILINE)
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "replay").glob("test_*.py"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}(" not in tests] == []
