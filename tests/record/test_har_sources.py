"""What fetch.py --from brings from HARs, besides tests/corpus/sources: whatever its labels, and wherever bodies lie."""

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files.looks import Role
from harness.record.sources.body import as_sent
from harness.record.sources.har import HarSource
from harness.record.sources.served import list_pages
from tests.support.foreign_hars import PAGE, entry, har
from tests.support.read_source import read_source

PORT = "http://b.test:8080/"


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


def body_in(path: Path) -> bytes | None:
    """Return the body of the one entry of a HAR."""
    found, = HarSource(path)
    return found.answer.content


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
