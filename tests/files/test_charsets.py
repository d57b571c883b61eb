"""Texts of a HAR get back the bytes that they were sent as."""

import pytest

from harness.bootstrap import ROOT
from harness.files.charsets import encode_text
from harness.files.foreign_har import read_foreign_har

SUMMER = "d'\u00e9t\u00e9 \u00e0!"
RECORDED = ROOT / "tests" / "data" / "har" / "chrome-windows-1251.har"
"""Of Chromium 156, by chrome-har-capturer 0.14.4: a page in windows-1251 whose scripts and style sheet name none."""
HELLO = "\u043f\u0440\u0438\u0432\u0435\u0442"
SENT = {
    "s.css": 'p::before{content:"\u0451\u0436\u0438\u043a"}'.encode("cp1251"),
    "a.js": f'var a="{HELLO}";'.encode("cp1251"),
    "u.js": f'var u="{HELLO}";'.encode(),
    "bom.js": f'var b="{HELLO}";'.encode("utf-8-sig"),
    "j.json": f'{{"a":"{HELLO}"}}'.encode(),
    "f.html": "<p>K\u00e4se \u00fcber alles".encode("cp1252"),
}
"""By the end of its URL, what the server sent; u.js is in UTF-8 all the same, f.html a frame without any charset."""


def test_a_page_in_an_old_charset_as_chrome_exports_it() -> None:
    entries = {entry.url.rpartition("/")[2]: entry.body for entry in read_foreign_har(RECORDED)}
    assert {name: entries[name] for name in SENT} == SENT


@pytest.mark.parametrize(("size", "charset"), [(len(SUMMER), "cp1252"), (len(SUMMER) + 3, "utf-8"),
                                               (0, "utf-8"), (77, "utf-8")])
def test_only_the_size_tells_a_charset_that_nobody_names(size: int, charset: str) -> None:
    sent = encode_text(SUMMER, "text/css", size=size, page_charset="iso-8859-1")
    assert sent == SUMMER.encode(charset)
