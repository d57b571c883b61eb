"""A recording is all there, or it is refused: whatever its format can tell of its bodies is checked."""

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.preflight import check_pages
from harness.mirror.importing import complete
from harness.mirror.manifest import damage
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


SAME_SIZE = b"<title>https://img.test/x.png</title>"


@pytest.mark.parametrize(("spoilt", "problem"), [
    ({}, ""),
    ({"1.png": None, "3.png": None}, "2 of 5 bodies of Web/ are missing, first img.test/1.png"),
    ({"0.png": SAME_SIZE[:-1]}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"0.png": SAME_SIZE}, "1 of 5 bodies of Web/ is not as recorded, first img.test/0.png"),
    ({"1.png": "2.png"}, "1 of 5 bodies of Web/ is missing, first img.test/1.png"),
    ({"more.png": b"of no log"}, "")])
def test_what_is_spoilt_is_said_before_anything_is_built(
        tmp_path: Path, spoilt: dict[str, bytes | str | None], problem: str) -> None:
    """A file that is gone (None), holds something else, or is a link now."""
    files = made(tmp_path)
    for name, content in spoilt.items():
        file = files.mirror / "img.test" / name
        file.unlink(missing_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content:
            file.symlink_to(content)
    assert damage(read_recording(files.mirror, files.fetchlog).bodies, files.mirror) == problem
    if not problem:
        assert check_pages(files).pages
        return
    with pytest.raises(InputError, match=f"^{problem}; record it again: "):
        check_pages(files)
