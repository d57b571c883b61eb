"""A recording is all there, or it is refused: whatever its format can tell of its bodies is checked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.preflight import check_pages
from harness.mirror.bodies import damage
from harness.mirror.importing import complete
from harness.mirror.recording import read_recording
from tests.support.small_mirror import SmallMirror

PAGE = "https://one.test/"
IMAGES = [f"https://img.test/{number}.png" for number in range(4)]


def made(directory: Path) -> PageFiles:
    """Write a page with four pictures."""
    mirror = SmallMirror(directory, "Web")
    for url in (PAGE, *IMAGES):
        mirror.add(url, f"<title>{url}</title>")
    mirror.finish(PAGE)
    files = PageFiles(directory, "Web")
    complete(files.fetchlog, files.mirror, "synthetic", {"seed": 1})
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
@pytest.mark.parametrize(("spoil", "problem"), [
    (nothing, ""),
    (unlink("img.test/1.png", "img.test/3.png"), "2 of 5 bodies of Web/ are missing, first img.test/1.png"),
    (write("img.test/0.png", SAME_SIZE[:-1]), "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    (write("img.test/0.png", SAME_SIZE), "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    (link, "1 of 5 bodies of Web/ is missing, first img.test/1.png"),
    (write("img.test/more.png", b"of no log"), "")])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, spoil: Callable[[Path], None], problem: str) -> None:
    files = made(tmp_path)
    spoil(files.mirror)
    assert damage(read_recording(files.mirror, files.fetchlog).bodies, files.mirror) == problem
    if not problem:
        assert check_pages(files).pages
        return
    with pytest.raises(InputError, match=f"^{problem}; record it again: "):
        check_pages(files)
