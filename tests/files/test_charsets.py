"""Texts of a HAR get back the bytes that they were sent as."""

import pytest

from harness.files.charsets import encode_text

SUMMER = "d'\u00e9t\u00e9 \u00e0!"


@pytest.mark.parametrize(("size", "charset"), [(len(SUMMER), "cp1252"), (len(SUMMER) + 3, "utf-8"),
                                               (0, "utf-8"), (77, "utf-8")])
def test_only_the_size_tells_a_charset_that_nobody_names(size: int, charset: str) -> None:
    sent = encode_text(SUMMER, "text/css", size=size, page_charset="iso-8859-1")
    assert sent == SUMMER.encode(charset)
