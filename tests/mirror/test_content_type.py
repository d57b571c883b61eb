import pytest

from harness.mirror.content_type import content_type


@pytest.mark.parametrize(("told", "name", "expected"), [
    ("text/css", "x.png", "text/css"), ("text/html; charset=utf-8", "x", "text/html; charset=utf-8"),
    ("text/html; charset=nil", "x", "text/html"), ("text/html; charset=a b\r\nX: y", "x", "text/html"),
    ("", "a/x.css?v=1.js", "text/css"), ("", "x.JS?y", "text/javascript"), ("nil", "x.svg", "image/svg+xml"),
    ("text/html\r\nX: y", "x", ""), ("; charset=utf-8", "x", ""), ("", "", "")])
def test_recorded_then_extension_then_none(told: str, name: str, expected: str) -> None:
    assert content_type(told, name).replace("application/", "text/") == expected   # Python < 3.12 has JS's old name
