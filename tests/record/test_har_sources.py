"""What fetch.py --from brings from HARs: bodies, charsets, pages, WebSockets, what was in a cache."""

import base64
import gzip
import json
import os
import re
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files import har_file
from harness.files.charsets import encode_text
from harness.files.encoding import decode
from harness.files.har_file import read_har_file
from harness.files.looks import Role
from harness.record.sources.body import as_sent
from harness.record.sources.har import HarSource
from harness.record.sources.listing import list_pages
from tests.support.foreign_hars import PAGE, entry, har
from tests.support.made_warc import DAY
from tests.support.read_source import NAVIGATES, read_source

PORT = "http://b.test:8080/"
FONT = bytes(range(256)) * 20
SPOILT = FONT.decode("utf-8", "replace").encode()
"""The font as Chrome exports it whose server calls it text: each byte that is no UTF-8 has become U+FFFD."""
ZIPPED = [{"name": "Content-Encoding", "value": "gzip"}]


def with_answer(made: dict[str, Any], **response: Any) -> dict[str, Any]:
    """Return an entry with some more in its response."""
    made["response"] |= response
    return made


def length(size: int) -> list[dict[str, str]]:
    return [{"name": "Content-Length", "value": str(size)}]


def changed(path: Path, **log: Any) -> Path:
    """Put something into the log of a HAR."""
    found = json.loads(path.read_text())
    found["log"] |= log
    path.write_text(json.dumps(found))
    return path


def test_bodies_of_a_har_are_compressed_again(tmp_path: Path) -> None:
    script = b"const answer = 42;\n" * 500
    sent = gzip.compress(script, 9, mtime=0)
    headers = [{"name": name, "value": value} for name, value in (
        ("Content-Encoding", "gzip"), ("Content-Length", str(len(sent))), ("Content-Type", "text/javascript"))]
    zstd = [{"name": "Content-Encoding", "value": "zstd"}, *headers[1:]]
    path = har(tmp_path / "page.har", entry(PAGE, body=b"<title>x</title>"),
               with_answer(entry("https://b.test/x.js", body=script), headers=headers, httpVersion="h2"),
               with_answer(entry("https://b.test/y.js", body=script), headers=zstd),
               entry("https://b.test/lost.js", body=None, size=5))
    source = read_source(path)
    assert (source.brought.pages, source.brought.figures) == ([PAGE], None)
    found = source.answered("https://b.test/x.js")
    assert found is not None
    assert (len(source.body_of(found)), gzip.decompress(source.body_of(found))) == (len(sent), script)
    assert (found.answer.protocol, found.answer.header("content-type")) == ("h2", "text/javascript")
    assert decode(source.answer_body("https://b.test/y.js") or b"", "zstd") == (script, True)
    assert source.answered("https://b.test/lost.js") is None


@pytest.mark.parametrize(("content_type", "text", "body"), [
    ("text/html; charset=gbk", "中文€", "中文€".encode("gb18030")),
    ('text/javascript;charset="GB2312"', "var a = '镕'", "var a = '镕'".encode("gbk")),
    ("text/css; charset=ISO-8859-1", "ä € “", "ä € “".encode("cp1252")),
    ("text/html; charset=Shift_JIS", "①日本", "①日本".encode("cp932")),
    ("text/html; charset=euc-kr", "똠방각하", "똠방각하".encode("cp949")),
    ("text/html", "<meta charset='koi8-r'>да", "<meta charset='koi8-r'>да".encode("koi8-r")),
    ("text/plain", "<meta charset='koi8-r'>да", "<meta charset='koi8-r'>да".encode()),
    ("text/html; charset=utf-8", "<meta charset=gbk>中", "<meta charset=gbk>中".encode()),
    ("text/html; charset=sjis", "\ufffd中", "\ufffd中".encode()),
    ("text/html; charset=ISO-8859-1", "中", "中".encode()), ("text/html; charset=idna", "ü", "ü".encode()),
    ("text/html; charset=x-none", "ü", "ü".encode()), ("text/html; charset=\0", "ü", "ü".encode()),
    ("text/html; charset=zip", "ü", "ü".encode())])
def test_texts_of_a_har_are_in_the_charset_that_they_are_sent_with(content_type: str, text: str, body: bytes) -> None:
    assert encode_text(text, content_type, size=len(body)) == body


def test_what_a_har_without_headers_holds_any_origin_may_read(tmp_path: Path) -> None:
    """Else no page gets the fonts of another host."""
    for headers, allowed in (([], "*"), ([{"name": "Content-Type", "value": "text/html"}], "")):
        found = read_source(har(tmp_path / "page.har", with_answer(entry(PAGE), headers=headers))).answered(PAGE)
        assert found is not None
        assert found.answer.header("access-control-allow-origin") == allowed


def test_a_word_in_the_place_of_bodies_is_no_body(tmp_path: Path) -> None:
    """As in a HAR of PerfCascade's test data, whose bodies were removed by hand."""
    removed = [entry(url, body=b"MANUALLY REMOVED", size=63930) for url in (PAGE, "https://b.test/x.js")]
    assert read_source(har(tmp_path / "page.har", *removed)).brought.figures is not None


def test_what_a_browser_had_in_its_cache_is_an_answer(tmp_path: Path) -> None:
    """As Chrome and Firefox write it when a page is loaded again: a 304 with the body of before."""
    known = with_answer(entry(PAGE, body=b"<p>often the same"), status=304, statusText="Not Modified")
    unknown = with_answer(entry("http://a.test/x.png", "image/png", None, size=900), status=304)
    source = read_source(har(tmp_path / "page.har", known, unknown))
    page = source.answered(PAGE, headers=NAVIGATES)
    assert page is not None
    assert (page.answer.status, page.answer.reason, source.body_of(page)) == (200, "OK", b"<p>often the same")
    assert source.answered("http://a.test/x.png") is None


def test_a_har_tells_what_its_page_asked_for_up_to_the_load_event(tmp_path: Path) -> None:
    path = har(tmp_path / "page.har", entry(PAGE), entry("https://b.test/x.js?_=1", body=b"1"),
               entry("https://b.test/later.js", body=b"1", second=3))
    changed(path, pages=[{"id": "page_1", "startedDateTime": "2012-01-08T13:25:01Z", "pageTimings": {"onLoad": 1500}}])
    assert read_source(path).brought.asked_for == {PAGE: ["a.test/", "b.test/x.js?_=*"]}


def test_without_a_load_event_only_what_a_page_referred_to_is_asked_for_again(tmp_path: Path) -> None:
    """GitHub ivanandrianto/YAFT: a page was refused since nobody asked for Firefox's updates, and two later pages."""
    path = har(tmp_path / "x.har", *OF_PAGE, entry("https://aus5.mozilla.org/update", "text/xml"),
               entry(f"{PAGE}next"), entry(f"{PAGE}y.js", "text/javascript", referer=f"{PAGE}next"))
    assert read_source(path).brought.asked_for == {PAGE: ["a.test/x.css", "a.test/x.js"]}


@pytest.mark.parametrize(("on_load_ms", "said"), [(1_500, 1), (2_500, 2), (-1, 2), (None, 2)])
def test_websockets_of_a_har_end_with_its_load_event(tmp_path: Path, on_load_ms: float | None, said: int) -> None:
    """As in our own recordings (harness.mirror.live), or a load could wait for what the recorded one did not."""
    began_s = datetime.fromisoformat(DAY.replace("Z", "+00:00")).timestamp()
    messages = [{"type": "receive", "time": began_s + after_s, "opcode": 1, "data": "news"} for after_s in (1, 2)]
    talk = {"pageref": "page_1", "startedDateTime": DAY, "time": 5, "request": {"method": "GET", "url": "wss://a.test/s"},
            "response": {"status": 101, "headers": []}, "_webSocketMessages": messages}
    path = changed(har(tmp_path / "page.har", entry(PAGE), talk),
                   pages=[{"id": "page_1", "startedDateTime": DAY, "pageTimings": {"onLoad": on_load_ms}}])
    assert [len(live.messages) for live in read_source(path).live()] == [said]


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
    found, = HarSource(har(tmp_path / "x.har", with_answer(entry(PAGE, body=b""), **response)))
    assert bool(found.error) == is_lost


def test_what_safari_says_of_a_get_after_a_form_is_the_forms(tmp_path: Path) -> None:
    """GitHub hari157/httpbin_hoppscotch_collection: the pages after a login were in no archive."""
    made = entry(PAGE)
    made["request"]["postData"] = {"mimeType": "application/x-www-form-urlencoded", "text": "user=x"}
    found, = HarSource(har(tmp_path / "x.har", made))
    assert found.request.body == b""


def test_a_fragment_of_the_pages_url_is_not_the_page(tmp_path: Path) -> None:
    """puppeteer-har lacks the body of a document: what a script got from its URL was the page, and fit."""
    document = with_answer(entry(PAGE, body=None, size=0), headers=length(22279), _transferSize=22500)
    document["response"]["content"]["text"] = ""
    document["request"]["headers"] = [{"name": "Upgrade-Insecure-Requests", "value": "1"}]
    source = read_source(har(tmp_path / "x.har", document, entry(PAGE, body=b"<p>part</p>", referer=PAGE),
                             entry(f"{PAGE}x.css", "text/css")))
    assert source.brought.figures is not None


@given(st.binary(max_size=200).map(lambda rest: b"\x89PNG\r\n\x1a\n\0" + rest), st.booleans(),
       st.sampled_from(["base64", "BASE64", "", "utf-8"]))
def test_a_picture_is_found_whatever_its_label(tmp_path_factory: pytest.TempPathFactory, picture: bytes,
                                               in_base64: bool, label: str) -> None:
    made = entry(f"{PAGE}x.png", "image/png", None, size=len(picture))
    text = base64.b64encode(picture).decode() if in_base64 else picture.decode("latin-1")
    made["response"]["content"] |= {"text": text, "encoding": label}
    found, = HarSource(har(tmp_path_factory.getbasetemp() / "picture.har", made))
    assert found.answer.content == picture


@given(st.binary(max_size=200), st.sampled_from(Role), st.integers(-1, 400), st.booleans())
def test_any_body_is_read_or_is_noise(body: bytes, role: Role, size: int, is_decoded: bool) -> None:
    found = as_sent([body], "gzip, br", role, size, is_decoded=is_decoded)
    assert found is None or isinstance(found.content, bytes)


OF_PAGE = [entry(PAGE), entry(f"{PAGE}x.css", "text/css", referer=PAGE), entry(f"{PAGE}x.js", "text/javascript",
                                                                             referer=PAGE)]


def urls(path: Path) -> list[str]:
    return list(HarSource(path).pages.values())


@pytest.mark.parametrize(("url", "mime_type", "status", "method"), [
    ("https://snippets.cdn.mozilla.net/x", "text/html", 200, "GET"),        # GitHub jindo6996/analys-har-file
    ("https://shavar.services.mozilla.com/", "text/html", 200, "POST"),                 # GitHub yashinshekh/nike
    ("https://of-a-browser.test/x", "application/json", 200, "GET"),
    ("https://before.test/gen_204", "text/html", 204, "GET")])                  # GitHub j-liang18/j-liang18.github.io
def test_before_a_page_stands_what_the_browser_itself_asks_for(url: str, mime_type: str, status: int, method: str,
                                                               tmp_path: Path) -> None:
    before = with_answer(entry(url, mime_type), status=status)
    before["request"]["method"] = method
    assert urls(har(tmp_path / "x.har", before, *OF_PAGE)) == [PAGE]


def unanswered(url: str, method: str = "GET") -> dict[str, Any]:
    made = with_answer(entry(url, "", None), status=0)
    made["request"]["method"] = method
    return made


@pytest.mark.parametrize("answered", [entry(PAGE), entry(PAGE, referer="https://before.test/")])
def test_what_the_page_before_never_got_is_not_the_page(answered: dict[str, Any], tmp_path: Path) -> None:
    """GitHub jindo6996/analys-har-file, results/stackoverflow.har: the page was one of YouTube's queries."""
    before = [unanswered("https://before.test/query"), unanswered("https://before.test/log", "POST")]
    assert urls(har(tmp_path / "x.har", *before, answered, *OF_PAGE[1:])) == [PAGE]


@pytest.mark.parametrize("others", [[], OF_PAGE[1:], [entry("https://ads.test/frame", referer=PAGE)]])
def test_a_page_whose_document_failed_is_that_page(others: list[dict[str, Any]], tmp_path: Path) -> None:
    assert urls(har(tmp_path / "x.har", unanswered(PAGE), *others)) == [PAGE]


@pytest.mark.parametrize("entries", [
    [*(entry(f"{PAGE}{number}.png", "image/png", referer=PAGE) for number in range(5)), entry("https://ads.test/frame")],
    [entry(f"{PAGE}global.css?v=1", "text/plain")],
    [entry(f"{PAGE}x.js", "application/javascript", b"1", page=None),       # GitHub PhilioS1996/web-project, meteo.gr
     entry("https://b.test/frame", page=None, referer=PAGE)]],
    ids=["repeat view", "style sheet of no known type", "recording began after the page had"])
def test_what_begins_with_no_document_is_no_page(entries: list[dict[str, Any]], tmp_path: Path) -> None:
    assert urls(har(tmp_path / "x.har", *entries)) == []


def test_what_frames_of_other_sites_ask_for_belongs_to_their_page(tmp_path: Path) -> None:
    """Chrome names no page for it: GitHub mrichman/hargo, golang.org.har, 12 of 32 requests."""
    frame, other = "https://frame.test/", "https://b.test/"
    path = har(tmp_path / "x.har", entry(PAGE), entry(frame, referer=PAGE), entry(other, page="page_2", second=10),
               entry(f"{frame}late", "image/svg+xml", page=None, second=11, referer=frame),
               entry(f"{frame}later", "image/png", page=None, second=12, referer=f"{frame}late#x"),
               entry("https://nobody.test/", "image/png", page=None, second=12, referer="https://elsewhere.test/"),
               pages=(("page_1", 1), ("page_2", 10)))
    source = HarSource(path)
    assert [each.page for each in source] == ["page_1", "page_1", "page_2", "page_1", "page_1", "page_2"]
    assert list(source.pages.values()) == [PAGE, other]


@pytest.mark.parametrize("order", [(3, 1, 2, 0), (0, 1, 2, 3), (3, 2, 1, 0)])
def test_entries_are_read_in_the_order_of_asking(order: tuple[int, ...], tmp_path: Path) -> None:
    """Firefox and Safari export their table as it is sorted, here by size: the page was not found, polls went back."""
    asked = [entry(PAGE, body=b"page", second=1), entry(f"{PAGE}poll", "text/plain", b"1", second=2, referer=PAGE),
             entry(f"{PAGE}poll", "text/plain", b"2", second=3, referer=PAGE),
             entry(f"{PAGE}x.js", "text/javascript", b"1;" * 99, second=4, referer=PAGE)]
    source = read_source(har(tmp_path / "x.har", *(asked[place] for place in order), pages=(("page_1", 1),)))
    assert source.brought.pages == [PAGE]
    assert [source.answer_body(f"{PAGE}poll") for _ in range(2)] == [b"1", b"2"]


@pytest.mark.parametrize("broken", [[], {}, {"log": {"entries": {}}}, {"log": {"pages": ["x"], "entries": []}},
                                    {"log": {"entries": [{"request": {}}]}}])
def test_what_is_no_har_is_refused_with_its_place(broken: object, tmp_path: Path) -> None:
    path = tmp_path / "x.har"
    path.write_text(json.dumps(broken))
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}:1: .*give (one|the HAR)"):
        HarSource(path)


@pytest.mark.parametrize("odd", [None, {}, 7, {"request": {"url": 1}}, entry(PAGE) | {"response": {"content": 7}},
                                 entry(PAGE) | {"time": "soon"}])
def test_an_entry_that_does_not_fit_is_one_missing_entry(odd: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.har"
    path.write_text(json.dumps({"log": {"entries": [entry(PAGE), odd, entry(f"{PAGE}x.css", "text/css")]}}))
    brought = read_source(path).brought
    assert (len(brought.exchanges), len(brought.remarks)) == (2, 1)


@pytest.mark.parametrize(("body", "kept"), [
    (SPOILT, False),                                            # GitHub PhilioS1996/web-project, eclass.upatras.gr.har
    (FONT, True),
    ("a few letters \ufffd in another charset".encode(), True),
    (b"e=t===\0?'" + "\ufffd':t;".encode() + b"x" * 900, True)])  # as scripts write what CSS.escape does
def test_what_a_browser_took_for_text_is_no_body(body: bytes, kept: bool, tmp_path: Path) -> None:
    found, = HarSource(har(tmp_path / "x.har", entry(f"{PAGE}f.woff2", "application/octet-stream", body)))
    assert found.answer.content == (body if kept else None)


@pytest.mark.parametrize(("kept_bytes", "size", "kept"), [
    (2**20 + 30_000, 1_500_000, False),     # what Firefox keeps of a larger script
    (2**20 + 30_000, 2**20 + 30_003, True), (700, 900, True), (300, 900, False)])
def test_a_body_that_is_cut_is_none(kept_bytes: int, size: int, kept: bool, tmp_path: Path) -> None:
    _, found = HarSource(har(tmp_path / "x.har", entry(PAGE), entry(f"{PAGE}x.js", "text/javascript",
                                                                    b"x" * kept_bytes, size=size)))
    assert bool(found.error) is not kept


def test_a_source_knows_which_bodies_it_lacks(tmp_path: Path) -> None:
    cached = with_answer(entry(f"{PAGE}x.png", "image/png", None, size=900), status=304)
    path = har(tmp_path / "x.har", entry(PAGE), entry(f"{PAGE}f.woff2", "font/woff2", SPOILT), cached,
               entry(f"{PAGE}s.css#x", "text/css", None, size=10), entry(f"{PAGE}empty", "text/plain", None, size=0))
    missing = read_source(path).brought.missing
    assert {url: each.bytes for url, each in missing.items()} == {
        f"{PAGE}f.woff2": len(SPOILT), f"{PAGE}x.png": 900, f"{PAGE}s.css": 10}
    assert len({each.why for each in missing.values()}) == 3, "counted by reason"


def test_what_no_file_can_be_named_after_is_in_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = f"{PAGE}?{'x' * 300}"
    path = har(tmp_path / "x.har", entry(long), entry(PAGE, page="page_2"), entry(f"{PAGE}?", page="page_3"),
               entry(PORT, page="page_4"))
    list_pages(tmp_path / "A.pages", read_source(path).brought)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(("url", "names"), [(f"{PAGE}?{'x' * 300}", 1), ("http://-/", 1), (PORT, 1),
                                            (f"{PAGE}x.png", 0)])
def test_without_a_page_that_can_be_recorded_there_is_no_list(url: str, names: int, tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", entry(url, "image/png" if url.endswith(".png") else "text/html"))
    brought = read_source(path).brought
    assert len(brought.pages) == names
    with pytest.raises(InputError):
        list_pages(tmp_path / "A.pages", brought)
    assert not (tmp_path / "A.pages").exists()


def attached(path: Path, *, file: object = "body.html", post: str = "") -> Path:
    """Write a HAR whose one answer, and the body of its request, lie in files of their own."""
    made = entry(PAGE, body=None, size=7)
    made["response"]["content"]["_file"] = file
    made["request"]["method"] = "POST"
    made["request"]["postData"] = {"mimeType": "text/plain", "text": "", "_file": post}
    return har(path, made)


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    """Write a ZIP file of these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def body_in(path: Path) -> bytes | None:
    """Return the body of the one entry of a HAR."""
    found, = HarSource(path)
    return found.answer.content


def test_bodies_lie_beside_the_har(tmp_path: Path) -> None:
    path = attached(tmp_path / "x.har", post="asked.txt")
    assert body_in(path) is None                  # as long as they are missing
    (tmp_path / "body.html").write_bytes(b"<p>page")
    (tmp_path / "asked.txt").write_bytes(b"\xff asked")
    found, = HarSource(path)
    assert (found.answer.content, found.request.body) == (b"<p>page", b"\xff asked")


@pytest.mark.parametrize("kept", ["<meta charset=windows-1251>\u0434\u0430".encode(),     # as Playwright 1.65 keeps it
                                  b"<meta charset=windows-1251>\xe4\xe0"])
def test_attached_texts_get_their_charset_back(kept: bytes, tmp_path: Path) -> None:
    path = attached(tmp_path / "x.har")
    changed_size = json.loads(path.read_text())
    changed_size["log"]["entries"][0]["response"]["content"]["size"] = 29
    path.write_text(json.dumps(changed_size))
    (tmp_path / "body.html").write_bytes(kept)
    assert body_in(path) == b"<meta charset=windows-1251>\xe4\xe0"


@pytest.mark.parametrize("files", [{"a.har": b"{}", "b.har": b"{}"}, {"a.json": b"{}"}, {"a.har": b"no json"}])
def test_what_is_no_zip_with_one_har_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path))}/x.zip:1: "):
        HarSource(zipped(tmp_path / "x.zip", files))


def test_a_damaged_zip_file_is_refused_and_a_damaged_body_is_none(tmp_path: Path) -> None:
    text = attached(tmp_path / "x.har").read_bytes()
    path = zipped(tmp_path / "x.zip", {"x.har": text, "body.html": b"<p>page"})
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x03\x04") + 30 + len("body.html") + 2
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1:])
    assert body_in(path) is None
    path.write_bytes(whole[:-40])
    with pytest.raises(InputError):
        HarSource(path)


def test_a_zip_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har_file, "MOST_BYTES", 100_000)
    path = zipped(tmp_path / "x.zip", {"x.har": b"{}", "body.html": bytes(100_000)})
    assert path.stat().st_size < 1000
    with pytest.raises(InputError):
        HarSource(path)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "below/secret", ".secret", "..", ".", "", "se\0cret",
                                  "..\\secret", "link", "fifo", None])
def test_a_har_names_no_file_elsewhere(name: object, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"<p>page")
    (tmp_path / "mine" / "below").mkdir(parents=True)
    for inside in ("below/secret", ".secret", "..\\secret"):
        (tmp_path / "mine" / inside).write_bytes(b"<p>page")
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "mine" / "fifo")
    assert body_in(attached(tmp_path / "mine" / "x.har", file=name)) is None


@given(st.text())
def test_no_name_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "har-names"
    folder.mkdir(exist_ok=True)
    (folder.parent / "secret").write_bytes(b"secret")
    path = attached(folder / "x.har")
    assert read_har_file(path).attached(f"../{name}") is None
    assert read_har_file(path).attached(name) in (None, path.read_bytes())
