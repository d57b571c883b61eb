"""The .pages file and the names pages go by."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files.pages import Page, line_of, page_url, read_pages, sanitise


def pages_file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "my.pages"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("text", "url", "name"), [
    ("http://bücher.example/ä?ö=ü", "http://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC",
     "httpxn--bcher-kva.exampleC3A4C3B6C3BC"),
    ("http://faß.example", "http://xn--fa-hia.example", "httpxn--fa-hia.example"),     # not "fass", as in IDNA2003
    ("http://日本語。example/", "http://xn--wgv71a119e.example/", "httpxn--wgv71a119e.example"),
    ("http://A.Test:80/x/../y", "http://a.test/y", "httpa.testy"),
    ("http://a.test/{x}|%7Ey?\"", "http://a.test/%7Bx%7D|%7Ey?%22", "httpa.test7Bx7D7Ey22"),
    ("http://user:secret@a.test/", "http://a.test/", "httpa.test"),
    ("http://user@a.test", "http://a.test", "httpa.test"),
    ("http://a.test?x", "http://a.test/?x", "httpa.testx"), ("http://a_b.test", "http://a_b.test", "httpa_b.test")])
def test_urls_are_what_browsers_ask_for(tmp_path: Path, text: str, url: str, name: str) -> None:
    path = pages_file(tmp_path, f"http://first.test\n{text}\n")
    page = read_pages(path)[1]
    assert page == Page(url, name)
    assert line_of(path, page) == 2
    assert page_url(url) == url


def test_a_list_ends_its_lines_at_line_feeds_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: not a URL"):
        read_pages(pages_file(tmp_path, "http://a.org\nhttp://b.org\u2028http://c.org\n"))


@pytest.mark.parametrize(("content", "problem"), [
    ("", ":1: no pages"),
    ("\n \n", ":1: no pages"),
    ("http://a.org\nfoo\n", r":2: not a URL: 'foo'; write http://host/path"),
    ("ftp://a.org", ":1: not a URL"),
    ("http://", ":1: not a URL"),
    ("http:///path", ":1: not a URL"),
    ("http://a.org:99999/", ":1: not a URL"),
    ("http://a.org:0/", ":1: not a URL"),
    ("http://[::1", ":1: not a URL"),
    ("x" * 100_000, f"my.pages:1: not a URL: '{'x' * 120}'; write http://host/path$"),
    ("http://[::1]/", ":1: not a URL"),
    (f"http://{'a' * 64}.test/", ":1: not a URL"),
    ("http://a..test/", ":1: not a URL"),
    ("http://a*b.test/", ":1: not a URL"),
    ("http://a.org/x y", ":1: not a URL"),
    ("http://a.org/x\n\nhttp://a.org/?x\n", ":3: .* the same file name .* in line 1"),
    ("http://a.org\nhttp://a.org/\n", ":2: .* the same file name"),
    ("http://a.org/x.json\nhttp://a.org/x\n", r":1: .* the same file name \(httpa.orgx.json\) as a file of .*/x in "),
    ("http://a.org/x\nhttp://a.org/x.har\n", ":2: .* the same file name .* as a file of http://a.org/x in line 1"),
    ("http://a.org/" + "x" * 240, ":1: this URL cannot be a file name"),
    (b"http://a.org/\xff", ":1: cannot be read")])
def test_bad_input_is_one_line_with_its_place(tmp_path: Path, content: str | bytes, problem: str) -> None:
    path = pages_file(tmp_path, content)
    with pytest.raises(InputError, match=problem) as caught:
        read_pages(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_pages(tmp_path / "none.pages")
    with pytest.raises(InputError, match="cannot be read"):
        read_pages(tmp_path)


@given(url=st.text())
def test_sanitised_names_are_safe_and_final(url: str) -> None:
    name = sanitise(url)
    assert sanitise(name) == name
    assert set(name) <= set("-_.() " + string.ascii_letters + string.digits)
    assert len(name.encode()) <= len(url)


hosts = st.from_regex(r"[a-z][a-z0-9]{0,15}\.(org|com)", fullmatch=True)
paths = st.text(string.ascii_letters + string.digits + "-_.()/?=&%#~|>", max_size=60)


@given(urls=st.lists(st.builds(lambda host, path: f"http://{host}/{path}", hosts, paths), min_size=1,
                     unique_by=lambda url: sanitise(page_url(url))))
def test_what_was_written_is_read_in_its_order(tmp_path_factory: pytest.TempPathFactory, urls: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "written.pages"
    path.write_text("\n".join(urls), encoding="utf-8")
    assert read_pages(path) == [Page(page_url(url), sanitise(page_url(url))) for url in urls]


@given(content=st.text(max_size=80))
def test_any_text_gives_pages_or_one_line(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pages"
    path.write_text(content, encoding="utf-8", newline="")
    problem, pages = "", []
    try:
        pages = read_pages(path)
    except InputError as error:
        problem = str(error)
    assert problem.startswith(f"{path}:") != bool(pages)
    assert len({page.name for page in pages}) == len(pages)
    assert all(page.url.lower().startswith(("http://", "https://")) for page in pages)
