"""Redirects in a replay: by order, by cookie, through stand-ins, and where they end."""


import pytest

from harness.replay.site import Site
from tests.support.written import HOST, Written, get


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
