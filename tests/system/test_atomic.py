"""What is moved is there in whole or not at all, also where rename(2) cannot: between file systems."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.system.atomic import move


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Give a folder of another file system."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tfo-lab-move-") as name:
        if Path(name).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        yield Path(name)


@pytest.fixture
def results(elsewhere: Path) -> Path:
    folder = elsewhere / "results"
    (folder / "cell").mkdir(parents=True)
    (folder / "cell" / "load.json").write_text("{}")
    (folder / "link").symlink_to("cell/load.json")
    return folder


def test_a_folder_goes_to_another_file_system(results: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Invalid cross-device link"):
        results.rename(tmp_path / "kept")
    written_ns = (results / "cell" / "load.json").stat().st_mtime_ns
    move(results, tmp_path / "kept")
    assert (tmp_path / "kept" / "cell" / "load.json").read_text() == "{}"
    assert (tmp_path / "kept" / "cell" / "load.json").stat().st_mtime_ns == written_ns
    assert (tmp_path / "kept" / "link").readlink() == Path("cell/load.json")
    assert not results.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_where_something_is_already_nothing_is_lost(results: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").touch()
    with pytest.raises(OSError, match="Directory not empty"):
        move(results, tmp_path / "kept")
    assert (results / "cell" / "load.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["precious"]
