"""A HAR in a ZIP file or beside the files with its bodies, and names in it that lead elsewhere."""

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files import har_file
from harness.files.foreign_entry import ForeignEntry
from harness.files.foreign_har import read_foreign_har
from harness.files.har_file import read_har_file
from tests.support.foreign_hars import PAGE, entry, har


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


def only(path: Path) -> ForeignEntry:
    """Return the one entry of a HAR."""
    found = read_foreign_har(path)
    assert len(found) == 1
    return found[0]


def test_bodies_lie_beside_the_har(tmp_path: Path) -> None:
    path = attached(tmp_path / "x.har", post="asked.txt")
    assert only(path).body is None                  # as long as they are missing
    (tmp_path / "body.html").write_bytes(b"<p>page")
    (tmp_path / "asked.txt").write_bytes(b"\xff asked")
    assert (only(path).body, only(path).request_body) == (b"<p>page", b"\xff asked")


def test_attached_texts_get_their_charset_back(tmp_path: Path) -> None:
    """As Playwright 1.65 keeps a page in windows-1251: in UTF-8."""
    path = attached(tmp_path / "x.har")
    (tmp_path / "body.html").write_text("<meta charset=windows-1251>\u0434\u0430")
    assert only(path).body == b"<meta charset=windows-1251>\xe4\xe0"
    (tmp_path / "body.html").write_bytes(b"<meta charset=windows-1251>\xe4\xe0")
    assert only(path).body == b"<meta charset=windows-1251>\xe4\xe0"


@pytest.mark.parametrize(("files", "said"), [
    ({"a.har": b"{}", "b.har": b"{}"}, "2 HARs in it (a.har, b.har); unpack it, and give the HAR of one page"),
    ({"a.json": b"{}"}, "no HAR in it; unpack it, and give the HAR of one page"),
    ({"a.har": b"no json"}, "not a HAR (JSONDecodeError")])
def test_what_is_no_zip_with_one_har_is_refused(files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_foreign_har(zipped(tmp_path / "x.zip", files))
    assert str(refused.value).startswith(f"{tmp_path}/x.zip:1: {said}")


def test_a_damaged_zip_file_is_refused_and_a_damaged_body_is_none(tmp_path: Path) -> None:
    text = attached(tmp_path / "x.har").read_bytes()
    path = zipped(tmp_path / "x.zip", {"x.har": text, "body.html": b"<p>page"})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"<p>page", b"<p>lage") if b"<p>page" in whole else _spoil(whole))
    assert only(path).body is None
    path.write_bytes(whole[:-40])
    with pytest.raises(InputError, match="a damaged ZIP file"):
        read_foreign_har(path)


def _spoil(content: bytes) -> bytes:
    """Return a ZIP file whose last member has another byte."""
    at = content.rindex(b"PK\x03\x04") + 30 + len("body.html")
    return content[:at + 2] + bytes([content[at + 2] ^ 0xFF]) + content[at + 3:]


def test_a_zip_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har_file, "MOST_BYTES", 100_000)
    path = zipped(tmp_path / "x.zip", {"x.har": b"{}", "body.html": bytes(100_000)})
    assert path.stat().st_size < 1000
    with pytest.raises(InputError, match=r"over 0.1 MB when unpacked"):
        read_foreign_har(path)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "below/secret", ".secret", "..", ".", "", "se\0cret",
                                  "..\\secret", "link", "fifo", 5, None])
def test_a_har_names_no_file_elsewhere(name: object, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"<p>page")
    (tmp_path / "mine" / "below").mkdir(parents=True)
    for inside in ("below/secret", ".secret", "..\\secret"):
        (tmp_path / "mine" / inside).write_bytes(b"<p>page")
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "mine" / "fifo")
    assert only(attached(tmp_path / "mine" / "x.har", file=name)).body is None


@given(st.text())
def test_no_name_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "har-names"
    folder.mkdir(exist_ok=True)
    (folder.parent / "secret").write_bytes(b"secret")
    path = attached(folder / "x.har")
    assert read_har_file(path).attached(f"../{name}") is None
    assert read_har_file(path).attached(name) in (None, path.read_bytes())
