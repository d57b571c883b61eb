"""Browsers of 2013 and of today, archives and scrapers write the same URL in different ways."""

import pytest

from tests.support.written import Written

BEACON = "/collect?dl=http%3A%2F%2Falibi.com%2F&dt=albuquerque"


@pytest.mark.parametrize(("recorded", "asked"), [
    # GitHub duvernea/Computer_Networks, myURLS: encoded and not in one URL, as Chrome wrote ' in 2017
    (f"{BEACON}'s%20alternative", f"{BEACON}%27s%20alternative"),
    (f"{BEACON}%27s%20alternative", f"{BEACON}'s%20alternative"),
    ("/a|b,c.js?x={1}", "/a%7Cb%2cc.js?x=%7B1%7D")])
def test_the_same_url_in_another_way_is_exact(written: Written, recorded: str, asked: str) -> None:
    written.add(recorded, "it")
    written.add(recorded.replace("?", "?other&"), "another")
    assert written.site().answer(asked).found == "plain"


@pytest.mark.parametrize("other", ["/a%2Fb?x%3D1", "/a%2Fb?x=1%26y", "/a%252Fb?x=1"])
def test_what_means_something_else_is_not(written: Written, other: str) -> None:
    written.add(other, "another")
    assert written.site().answer("/a%2Fb?x=1").found != "plain"


def test_as_it_was_asked_for_comes_first(written: Written) -> None:
    for path in ("/a,b", "/a%2Cb"):
        written.add(path, path)
    site = written.site()
    asked = [site.answer(path).url for path in ("/a,b", "/a%2Cb")]
    assert [url.rpartition("/")[2] for url in asked] == ["a,b", "a%2Cb"]
