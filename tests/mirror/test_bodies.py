"""A recording is all there, or it is refused: whatever its format can tell of its bodies is checked."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.preflight import check_pages
from harness.mirror.bodies import damage
from harness.mirror.importing import write_manifest
from harness.mirror.recording import read_recording
from tests.support.https_recording import HttpsRecording
from tests.support.small_mirror import SmallMirror

PAGE = "https://one.test/"
IMAGES = [f"https://img.test/{number}.png" for number in range(4)]


def with_har(directory: Path) -> PageFiles:
    """Write a page with four pictures and a HAR that names their files and sizes, as fetch.py did without a list."""
    recorded = HttpsRecording(directory)
    for url in (PAGE, *IMAGES):
        body = f"<title>{url}</title>".encode()
        recorded.add(url, body, _file=f"img.test/{url[-5:]}" if url in IMAGES else "one.test/index.html")
        recorded.entries[-1]["response"]["bodySize"] = len(body)
    recorded.finish(PAGE)
    return PageFiles(directory, "Web")


def with_list(directory: Path) -> PageFiles:
    """Write the same with text logs, and a manifest that lists the bodies, as synthetic pages have them."""
    mirror = SmallMirror(directory, "Web")
    for url in (PAGE, *IMAGES):
        mirror.add(url, f"<title>{url}</title>")
    mirror.finish(PAGE)
    files = PageFiles(directory, "Web")
    write_manifest(files.fetchlog, files.mirror, "synthetic", seed=1)
    return files


def nothing(mirror: Path) -> None:
    assert mirror.is_dir()


def unlink(*names: str) -> Callable[[Path], None]:
    def spoil(mirror: Path) -> None:
        for name in names:
            (mirror / name).unlink()

    return spoil


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def spoil(mirror: Path) -> None:
        (mirror / name).write_bytes(content)

    return spoil


def link(mirror: Path) -> None:
    (mirror / "img.test/1.png").rename(mirror.parent / "elsewhere")
    (mirror / "img.test/1.png").symlink_to(mirror.parent / "elsewhere")


SAME_SIZE = b"<title>https://img.test/x.png</title>"
SPOILT: list[tuple[str, Callable[[Path], None], dict[Callable[[Path], PageFiles], str]]] = [
    ("nothing", nothing, {with_har: "", with_list: ""}),
    ("every other", unlink("img.test/1.png", "img.test/3.png"), {
        with_har: "2 of 5 bodies of Web/ are missing, first img.test/1.png",
        with_list: "2 of 5 bodies of Web/ are missing, first img.test/1.png"}),
    ("a byte less", write("img.test/0.png", SAME_SIZE[:-1]), {
        with_har: "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png",
        with_list: "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"}),
    ("a byte changed", write("img.test/0.png", SAME_SIZE), {     # which a size cannot tell
        with_har: "", with_list: "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"}),
    ("a link", link, dict.fromkeys((with_har, with_list), "1 of 5 bodies of Web/ is missing, first img.test/1.png")),
    ("more", write("img.test/more.png", b"of no log"), {with_har: "", with_list: ""})]


@pytest.mark.parametrize(("make", "spoil", "problem"), [
    pytest.param(make, spoil, problem, id=f"{make.__name__}-{name}") for name, spoil, problems in SPOILT
    for make, problem in problems.items()])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, make: Callable[[Path], PageFiles], spoil: Callable[[Path], None], problem: str) -> None:
    files = make(tmp_path)
    spoil(files.mirror)
    assert damage(read_recording(files.mirror, files.fetchlog).bodies, files.mirror) == problem
    if not problem:
        assert check_pages(files).pages
        return
    with pytest.raises(InputError, match=f"^{problem}; record it again: "):
        check_pages(files)


def test_2013s_format_tells_neither_sizes_nor_hashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = with_list(tmp_path)
    (files.fetchlog / "manifest.json").unlink()
    (files.mirror / "img.test/1.png").unlink()
    assert check_pages(files).recording.manifest.bodies == {}
    assert IMAGES[1] in capsys.readouterr().err, "but its log tells that it was there"


def test_of_what_a_har_has_not_whole_only_the_file_has_to_be_there(tmp_path: Path) -> None:
    files = with_har(tmp_path)
    [har] = files.fetchlog.glob("*.har")
    archive = json.loads(har.read_text())
    broken_off, part, cached, unknown = archive["log"]["entries"][1:]
    broken_off["_partial"], cached["_fromCache"] = True, "disk"
    part["response"]["status"] = 206
    unknown["response"]["bodySize"] = -1
    har.write_text(json.dumps(archive))
    for number in range(4):
        (files.mirror / f"img.test/{number}.png").write_bytes(b"of another size")
    recording = read_recording(files.mirror, files.fetchlog)
    assert damage(recording.bodies, files.mirror) == ""
    (files.mirror / "img.test/2.png").unlink()
    assert damage(recording.bodies, files.mirror).startswith("1 of 5 ")
