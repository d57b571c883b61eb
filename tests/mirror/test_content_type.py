import pytest

from harness.mirror.content_type import content_type


@pytest.mark.parametrize(("mime", "charset", "name", "begin", "expected"), [
    ("text/css", "", "x.png", b"\x89PNG\r\n\x1a\n", "text/css"),
    ("text/html", "utf-8", "x", b"", "text/html; charset=utf-8"),
    ("text/html", "nil", "x", b"", "text/html"), ("text/html", "a b\r\nX: y", "x", b"", "text/html"),
    ("", "", "x.js", b"\x89PNG\r\n\x1a\n", "image/png"), ("", "", "x", b"GIF89a", "image/gif"),
    ("", "", "x", b"\xff\xd8\xff\xe0", "image/jpeg"), ("", "", "x", b"RIFF\0\0\0\0WEBP", "image/webp"),
    ("", "", "x", b"\n <!-- hi --> <!DOCTYPE html>", "text/html"), ("", "", "x", b"<html>", "text/html"),
    ("", "", "x", b"<htmlx>", "application/octet-stream"), ("", "", "a/x.css?v=1.js", b"p{}", "text/css"),
    ("", "", "x.JS?y", b"var", "text/javascript"), ("nil", "", "x.svg", b"<svg", "image/svg+xml"),
    ("text/html\r\nX: y", "", "x", b"", "application/octet-stream"), ("", "", "", b"", "application/octet-stream"),
])
def test_recorded_then_content_then_extension(mime: str, charset: str, name: str, begin: bytes, expected: str) -> None:
    found = content_type(f"{mime}; charset={charset}" if charset else mime, name, begin)
    assert found.replace("application/javascript", "text/javascript") == expected    # Python < 3.12 has the old name
