"""Bodies in HARs of programs that write them, or their sizes, in ways of their own."""

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.foreign_body import BodyClaims, HarContext, read_body
from harness.files.foreign_har import has_bodies, read_foreign_har
from harness.files.looks import Role
from harness.record.sources.archived import ArchivedRequest
from harness.record.sources.har import index_har
from tests.support.foreign_hars import PAGE, entry, har

PICTURE = bytes(range(256)) * 4
ZIPPED = [{"name": "Content-Encoding", "value": "gzip"}]


def with_answer(made: dict[str, Any], **response: Any) -> dict[str, Any]:
    """Return an entry with some more in its response."""
    made["response"] |= response
    return made


def length(size: int) -> list[dict[str, str]]:
    return [{"name": "Content-Length", "value": str(size)}]


@pytest.mark.parametrize(("response", "is_lost"), [
    ({"headers": length(900)}, True),                           # Chrome, of what a script read as a blob
    ({"headers": length(900), "status": 206}, True),
    ({"headers": [*length(900), *ZIPPED]}, True),               # Firefox 140, of some scripts in its cache
    ({"_transferSize": 34265, "headersSize": -1}, True),        # Chrome over HTTP/2
    ({"headers": [*length(20), *ZIPPED]}, False),               # as large as nothing is in gzip
    ({"headers": length(0)}, False), ({"_transferSize": 900, "headersSize": -1}, False), ({}, False),
    ({"headers": length(900), "status": 404}, False)])
def test_an_empty_text_is_no_body_where_one_crossed_the_network(response: dict[str, Any], is_lost: bool,
                                                                tmp_path: Path) -> None:
    found = read_foreign_har(har(tmp_path / "x.har", with_answer(entry(PAGE, body=b""), **response)))[0]
    assert (found.body, found.content_bytes) == ((None, -1) if is_lost else (b"", 0))


@pytest.mark.parametrize(("text", "encoding", "body"), [
    (base64.b64encode(PICTURE).decode(), "base64", PICTURE), ("\u00e4" * 600_000, "", ("\u00e4" * 600_000).encode())])
def test_chrome_har_counts_a_body_twice(text: str, encoding: str, body: bytes, tmp_path: Path) -> None:
    """As it is, and as it stands in the HAR: version 1.3.1."""
    made = entry(f"{PAGE}x", "image/png" if encoding else "text/javascript", None, size=len(text) + len(body))
    made["response"]["content"] |= {"text": text} | ({"encoding": encoding} if encoding else {})
    assert read_foreign_har(har(tmp_path / "x.har", made))[0].body == body


def test_webpagetest_says_how_large_a_body_is_that_it_cut(tmp_path: Path) -> None:
    """GitHub pmeenan/waterfall-tools, www.google.com.har: 622,542 bytes of a script of 1,028,346."""
    whole, cut = (entry(f"{PAGE}{name}.js", "text/javascript", b"x" * 600) | {"_objectSizeUncompressed": size}
                  for name, size in (("whole", 600), ("cut", 1000)))
    assert [found.body for found in read_foreign_har(har(tmp_path / "x.har", whole, cut))] == [b"x" * 600, None]


def test_what_crossed_the_network_tells_the_size_of_an_encoded_body(tmp_path: Path) -> None:
    """As chrome-har-capturer writes over HTTP/2."""
    made = with_answer(entry(PAGE, body=b"x" * 5000), bodySize=-1, headersSize=-1, _transferSize=900, headers=ZIPPED)
    assert read_foreign_har(har(tmp_path / "x.har", made))[0].wire_bytes == 900


def test_what_safari_says_of_a_get_after_a_form_is_the_forms(tmp_path: Path) -> None:
    """GitHub hari157/httpbin_hoppscotch_collection: the pages after a login were in no archive."""
    made = entry(PAGE)
    made["request"]["postData"] = {"mimeType": "application/x-www-form-urlencoded", "text": "user=x"}
    assert read_foreign_har(har(tmp_path / "x.har", made))[0].request_body == b""


def test_a_fragment_of_the_pages_url_is_not_the_page(tmp_path: Path) -> None:
    """puppeteer-har lacks the body of a document: what a script got from its URL was the page, and fit."""
    document = with_answer(entry(PAGE, body=None, size=0), headers=length(22279), _transferSize=22500)
    document["response"]["content"]["text"] = ""
    document["request"]["headers"] = [{"name": "Upgrade-Insecure-Requests", "value": "1"}]
    fragment = entry(PAGE, body=b"<p>part</p>", referer=PAGE)
    path = har(tmp_path / "x.har", document, fragment, entry(f"{PAGE}x.css", "text/css"))
    assert not has_bodies(read_foreign_har(path))
    index, _ = index_har(read_foreign_har(path))
    assert index.find(ArchivedRequest("GET", PAGE, navigation=True)) is None
    found = index.find(ArchivedRequest("GET", PAGE, by_page=True))
    assert found is not None
    assert found.body == b"<p>part</p>"


@given(st.binary(max_size=200).map(lambda rest: b"\x89PNG\r\n\x1a\n\0" + rest), st.booleans(),
       st.sampled_from(["base64", "BASE64", "", "utf-8"]), st.booleans())
def test_a_picture_is_found_whatever_its_label(picture: bytes, in_base64: bool, label: str, is_told: bool) -> None:
    text = base64.b64encode(picture).decode() if in_base64 else picture.decode("latin-1")
    claims = BodyClaims(Role.PICTURE, "image/png", "", len(picture) if is_told else 0, 0, is_counted=True)
    content = {"text": text, "encoding": label}
    assert read_body(content, claims, HarContext("", lambda _: None, {}), "").content == picture


@given(st.text(max_size=200), st.sampled_from(["base64", ""]), st.sampled_from(Role), st.integers(-1, 400))
def test_any_text_is_read_or_is_none(text: str, label: str, role: Role, size: int) -> None:
    claims = BodyClaims(role, "", "gzip, br", max(0, size), 0, is_counted=True)
    found = read_body({"text": text, "encoding": label}, claims, HarContext("", lambda _: None, {}), "")
    assert found.content is not None or found.is_noise
