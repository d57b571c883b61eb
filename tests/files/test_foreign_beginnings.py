"""Where a page begins in a HAR that holds more than the page."""

from pathlib import Path
from typing import Any

import pytest

from harness.files.foreign_har import read_foreign_har
from harness.files.foreign_pages import page_urls
from harness.record.sources.har import urls_asked_for
from tests.support.foreign_hars import PAGE, entry, har

OF_PAGE = [entry(PAGE), entry(f"{PAGE}x.css", "text/css", referer=PAGE), entry(f"{PAGE}x.js", "text/javascript",
                                                                             referer=PAGE)]


def urls(path: Path) -> list[str]:
    return list(page_urls(read_foreign_har(path)).values())


@pytest.mark.parametrize(("url", "mime_type", "status", "method"), [
    ("https://snippets.cdn.mozilla.net/x", "text/html", 200, "GET"),        # GitHub jindo6996/analys-har-file
    ("https://shavar.services.mozilla.com/", "text/html", 200, "POST"),                 # GitHub yashinshekh/nike
    ("https://of-a-browser.test/x", "application/json", 200, "GET"),
    ("https://before.test/gen_204", "text/html", 204, "GET")])                  # GitHub j-liang18/j-liang18.github.io
def test_before_a_page_stands_what_the_browser_itself_asks_for(url: str, mime_type: str, status: int, method: str,
                                                               tmp_path: Path) -> None:
    before = entry(url, mime_type)
    before["response"]["status"], before["request"]["method"] = status, method
    assert urls(har(tmp_path / "x.har", before, *OF_PAGE)) == [PAGE]


def unanswered(url: str, method: str = "GET") -> dict[str, Any]:
    made = entry(url, "", None)
    made["response"]["status"], made["request"]["method"] = 0, method
    return made


@pytest.mark.parametrize("answered", [entry(PAGE), entry(PAGE, referer="https://before.test/")])
def test_what_the_page_before_never_got_is_not_the_page(answered: dict[str, Any], tmp_path: Path) -> None:
    """GitHub jindo6996/analys-har-file, results/stackoverflow.har: the page was one of YouTube's queries."""
    before = [unanswered("https://before.test/query"), unanswered("https://before.test/log", "POST")]
    assert urls(har(tmp_path / "x.har", *before, answered, *OF_PAGE[1:])) == [PAGE]


@pytest.mark.parametrize("others", [[], OF_PAGE[1:], [entry("https://ads.test/frame", referer=PAGE)]])
def test_a_page_whose_document_failed_is_that_page(others: list[dict[str, Any]], tmp_path: Path) -> None:
    assert urls(har(tmp_path / "x.har", unanswered(PAGE), *others)) == [PAGE]


def test_a_repeat_view_that_begins_with_a_picture_has_no_page(tmp_path: Path) -> None:
    pictures = [entry(f"{PAGE}{number}.png", "image/png", referer=PAGE) for number in range(5)]
    assert urls(har(tmp_path / "x.har", *pictures, entry("https://ads.test/frame"))) == []


def test_a_style_sheet_of_no_known_type_is_no_page(tmp_path: Path) -> None:
    assert urls(har(tmp_path / "x.har", entry(f"{PAGE}global.css?v=1", "text/plain"))) == []


def test_without_a_load_event_only_what_a_page_referred_to_is_asked_for_again(tmp_path: Path) -> None:
    """GitHub ivanandrianto/YAFT: a page was refused since nobody asked for Firefox's updates, and two later pages."""
    path = har(tmp_path / "x.har", *OF_PAGE, entry("https://aus5.mozilla.org/update", "text/xml"),
               entry(f"{PAGE}next"), entry(f"{PAGE}y.js", "text/javascript", referer=f"{PAGE}next"))
    assert urls_asked_for(read_foreign_har(path)) == {PAGE: frozenset({"a.test/x.css", "a.test/x.js"})}
