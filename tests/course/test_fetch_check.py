"""The course's rules for the list of pages: every breach is found, and nothing else."""

from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.course.rules import rule_breaches
from harness.errors import InputError
from harness.files.sites import registrable_domain
from tests.support.forked import typed

THREE = "http://www.example.com/\nhttps://example.org/page\nhttps://en.example.net/a?b=c\n"


def write(directory: Path, text: str) -> Path:
    file = directory / "myURLS.pages"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("text", [
    THREE, THREE.rstrip(), "\n\n" + THREE.replace("\n", "\n\n"),
    THREE + "https://a.github.io/\nhttps://b.github.io/\n",             # two people's sites, says the list
    THREE + "https://www.bbc.co.uk/news\nhttps://www.gov.uk/\n",
    THREE + "https://bücher.example.de/\n",
    THREE + "https://www.example.de:443/\n",
    THREE + "https://user:secret@www.example.de/\n",
])
def test_lists_by_the_rules(tmp_path: Path, text: str) -> None:
    assert rule_breaches(write(tmp_path, text)) == []


@pytest.mark.parametrize(("line", "problem"), [
    ("http://www.example.com/", "stands in line 1 already"),
    ("http://www.example.com", "stands in line 1 already"),
    ("HTTP://WWW.example.com", "stands in line 1 already"),
    ("https://shop.example.com/", "belongs to example.com, as line 1 does"),
    ("ftp://a.example.de/", "not a URL"),
    ("www.example.de", "not a URL"),
    ("http://", "not a URL"),
    ("http://a b.example.de/", "not a URL"),
    ("http://[::1", "not a URL"),
    ("http://www.example.de:99999/", "not a URL"),
    ("http://www.example.de:8080/", "a port of its own"),
    ("http://localhost/", "not a site's name"),
    ("http://127.0.0.1/", "not a site's name"),
    ("http://[::1]/", "not a URL"),
    ("http://co.uk/", "not a site's name"),
    ("https://github.io/", "not a site's name"),
])
def test_one_breach_is_reported_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    file = write(tmp_path, THREE + line + "\n")
    breaches = rule_breaches(file)
    assert len(breaches) == 1
    assert breaches[0].startswith(f"{file}:4: ")
    assert problem in breaches[0]


def test_every_breach_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path, "foo\n\nhttp://a.example.com/\nhttp://b.example.com/\n")
    assert [line.split(": ")[0] for line in rule_breaches(file)] == [f"{file}:1", f"{file}:4"]
    assert rule_breaches(write(tmp_path, "")) == [f"{file}:1: 0 pages; give at least 3"]
    assert rule_breaches(write(tmp_path, "http://a.example.com/\n")) == [f"{file}:1: 1 page; give at least 3"]
    six = "".join(f"http://www.site{number}.com/\n" for number in range(6))
    assert rule_breaches(write(tmp_path, six)) == [f"{file}:6: 6 pages; give at most 5"]


def test_pages_with_one_file_name_are_told_apart(tmp_path: Path) -> None:
    file = write(tmp_path, THREE + "http://www.ab.com/c\nhttp://www.abc.om/\n".replace("abc.om", "ab.comc"))
    assert rule_breaches(file)[0].startswith(f"{file}:5: ")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pages:1: "):
        rule_breaches(tmp_path / "none.pages")
    (tmp_path / "binary.pages").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"binary\.pages:1: "):
        rule_breaches(tmp_path / "binary.pages")


@pytest.mark.parametrize(("host", "domain"), [
    ("www.example.co.uk", "example.co.uk"), ("example.com", "example.com"), ("WWW.Example.COM", "example.com"),
    ("a.b.github.io", "b.github.io"), ("www.example.test", "example.test"), ("com", None), ("10.0.0.1", None),
    ("www.example.com.", "example.com")])
def test_registrable_domain(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == domain


@pytest.mark.parametrize(("text", "status", "where"), [
    (THREE, 0, ""), ("http://a.example.com/\n", 2, "myURLS.pages:1: ")])
def test_on_the_command_line(tmp_path: Path, text: str, status: int, where: str) -> None:
    write(tmp_path, text)
    done = typed(ROOT / "fetch.py", "--check", "--name", "myURLS", "--dir", tmp_path)
    assert done.returncode == status
    assert where in done.stderr
    assert "Traceback" not in done.stderr
