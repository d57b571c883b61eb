"""What fetch.py --from brings from HARs, besides tests/corpus/sources: its pages, and what lies beside it."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.record.sources.har import HarSource
from harness.record.sources.served import list_pages
from tests.support.foreign_hars import PAGE, entry, har
from tests.support.read_source import read_source

LONG, PORT = f"{PAGE}?{'x' * 300}", "http://b.test:8080/"


@pytest.mark.parametrize(("urls", "listed"), [
    ([LONG, PAGE, f"{PAGE}?", PORT], f"{PAGE}\n"), ([LONG], None), (["http://-/"], None), ([PORT], None),
    ([f"{PAGE}x.png"], None)])
def test_the_list_has_the_pages_that_can_be_recorded(urls: list[str], listed: str | None, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    path = har(tmp_path / "x.har", *(entry(url, "image/png" if url.endswith(".png") else "text/html", page=f"page_{at}")
                                     for at, url in enumerate(urls)))
    with nullcontext() if listed else pytest.raises(InputError):
        list_pages(tmp_path / "A.pages", read_source(path).brought)
    list_file = tmp_path / "A.pages"
    assert (list_file.read_text() if list_file.exists() else None) == listed
    assert ("1 of 4" in capsys.readouterr().out) == bool(listed)


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
