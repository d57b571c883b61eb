"""What stands in for a recorded answer: volatile values, parameters, sizes and formats left out of account."""


import pytest

from harness.replay.site import Site
from tests.support.written import Written, body


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
