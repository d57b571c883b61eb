"""What fetch.py --from brings from HARs, besides tests/corpus/sources: its pages, and what lies beside it."""

import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.record.sources.har import HarSource
from harness.record.sources.served import list_pages
from tests.support.foreign_hars import PAGE, entry, har
from tests.support.read_source import read_source

PORT = "http://b.test:8080/"


def test_what_no_file_can_be_named_after_is_in_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = f"{PAGE}?{'x' * 300}"
    path = har(tmp_path / "x.har", entry(long), entry(PAGE, page="page_2"), entry(f"{PAGE}?", page="page_3"),
               entry(PORT, page="page_4"))
    list_pages(tmp_path / "A.pages", read_source(path).brought)
    assert (tmp_path / "A.pages").read_text() == f"{PAGE}\n"
    assert "1 of 4" in capsys.readouterr().out


@pytest.mark.parametrize("url", [f"{PAGE}?{'x' * 300}", "http://-/", PORT, f"{PAGE}x.png"])
def test_without_a_page_that_can_be_recorded_there_is_no_list(url: str, tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", entry(url, "image/png" if url.endswith(".png") else "text/html"))
    with pytest.raises(InputError):
        list_pages(tmp_path / "A.pages", read_source(path).brought)
    assert not (tmp_path / "A.pages").exists()


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "below/secret", ".secret", "..", ".", "", "se\0cret",
                                  "..\\secret", "link", "fifo", None])
def test_a_har_names_no_file_elsewhere(name: object, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"<p>page")
    (tmp_path / "mine" / "below").mkdir(parents=True)
    for inside in ("below/secret", ".secret", "..\\secret"):
        (tmp_path / "mine" / inside).write_bytes(b"<p>page")
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "mine" / "fifo")
    made = entry(PAGE, body=None, size=7)
    made["response"]["content"]["_file"] = name
    found, = HarSource(har(tmp_path / "mine" / "x.har", made))
    assert found.answer.content is None
