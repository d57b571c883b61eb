"""sweep-NAME/: a unit's results appear whole or not at all, and once."""

import fcntl
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.sweep.folder import SweepFolder, sweeps
from harness.sweep.parcel import pack
from harness.system.privileges import acting_as
from tests.support.made_units import outcome, result, unit
from tests.support.ordinary import ORDINARY


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    made = SweepFolder(tmp_path, "x")
    made.make()
    return made


def test_results_are_kept_under_their_key(folder: SweepFolder, tmp_path: Path) -> None:
    key = unit().key
    assert folder.outcome(key) is None
    stored = folder.store(unit(), result(tmp_path / "w", outcome(unit()), loads="one"))
    assert folder.outcome(key) == stored
    assert (folder.results(key) / "client" / "loads").read_text() == "one"
    assert [path.name for path in folder.sites.iterdir()] == [key]


def test_a_second_result_of_a_unit_changes_nothing(folder: SweepFolder, tmp_path: Path) -> None:
    key = unit().key
    folder.store(unit(), result(tmp_path / "w", outcome(unit()), loads="one"))
    folder.store(unit(), result(tmp_path / "w", outcome(unit()), loads="two"))
    assert (folder.results(key) / "client" / "loads").read_text() == "one"
    assert [path.name for path in folder.sites.iterdir()] == [key]


@pytest.mark.parametrize("lie", [{"url": "http://other.test"}, {"replica": 1}, {"delays": (1.0,)}, {"options": ()}])
def test_a_result_that_belies_its_unit_is_not_kept(folder: SweepFolder, tmp_path: Path, lie: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not of"):
        folder.store(unit(), result(tmp_path / "w", replace(outcome(unit()), **lie)))
    assert list(folder.sites.iterdir()) == []


@pytest.mark.parametrize("spoilt", ["another unit's", "no JSON", "half", "nothing"])
def test_what_is_no_result_leaves_nothing(folder: SweepFolder, tmp_path: Path, spoilt: str) -> None:
    whole = result(tmp_path / "w", outcome(unit(1) if spoilt == "another unit's" else unit()), loads="x" * 10_000)
    if spoilt == "no JSON":
        (tmp_path / "v" / "client").mkdir(parents=True)
        (tmp_path / "v" / "site.json").write_text("{")
        whole = pack(tmp_path / "v", ("site.json",))
    content = {"half": whole[:len(whole) // 2], "nothing": b""}.get(spoilt, whole)
    with pytest.raises(ValueError, match=r".+"):
        folder.store(unit(), content)
    assert list(folder.sites.iterdir()) == []


def test_what_is_refused_is_not_kept(folder: SweepFolder, tmp_path: Path) -> None:
    refused = folder.store(unit(), result(tmp_path / "w", outcome(unit(), "refused", "not fit")))
    assert refused.status == "refused"
    assert list(folder.sites.iterdir()) == []


def test_failures_are_rows_until_they_are_tried_again(folder: SweepFolder, tmp_path: Path) -> None:
    folder.store_failure(outcome(unit(0), "failed", "hollow"))
    folder.store(unit(1), result(tmp_path / "w", outcome(unit(1))))
    kept = folder.outcome(unit(0).key)
    assert kept
    assert (kept.status, kept.why) == ("failed", ("hollow",))
    assert folder.forget_failures() == 1
    assert [path.name for path in folder.sites.iterdir()] == [unit(1).key]


def test_there_is_one_driver_at_a_time_and_it_tidies_up(folder: SweepFolder) -> None:
    (folder.sites / ".half").mkdir()
    assert folder.driver() is None
    with folder.only_driver():
        assert list(folder.sites.iterdir()) == []
        assert folder.driver() == os.getpid()
        with pytest.raises(InputError, match=r"this sweep is running"), SweepFolder(folder.path.parent,
                                                                                   "x").only_driver():
            pass
    assert folder.driver() is None


def test_a_driver_begins_while_somebody_looks_whether_there_is_one(folder: SweepFolder) -> None:
    """As `--status` does: it has the lock for a moment."""
    with folder.only_driver():
        pass
    descriptor = os.open(folder.path / "driver.lock", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    looked = threading.Timer(0.1, os.close, (descriptor,))
    looked.start()
    with folder.only_driver():
        assert folder.driver() == os.getpid()
    looked.join()


@pytest.mark.parametrize("content", [None, b"", b"\0" * 100, b'{"key": "'])
def test_what_a_power_cut_left_is_measured_again(folder: SweepFolder, content: bytes | None) -> None:
    folder.store_failure(outcome(unit(0), "failed", "hollow"))
    half, newer = folder.results(unit(1).key), folder.results(unit(2).key)
    for left in (half, newer):
        left.mkdir()
    if content is not None:
        (half / "site.json").write_bytes(content)
    (newer / "site.json").write_text('{"format": 99}')
    with folder.only_driver():
        assert folder.outcome(unit(0).key)
        assert folder.outcome(unit(1).key) is None
        with pytest.raises(InputError, match=r"newer"):
            folder.outcome(unit(2).key)


def test_a_failure_is_forgotten_in_one_step(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that is killed while it removes files leaves none at the unit's place."""
    folder.store_failure(outcome(unit(0), "failed", "hollow"))
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    assert folder.forget_failures() == 1
    assert folder.outcome(unit(0).key) is None


def test_a_failure_is_on_the_disk_before_it_has_its_name(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def noting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            done.append(name)
            return call(*arguments)
        return noted

    monkeypatch.setattr(os, "fsync", noting("fsync", fsync))
    monkeypatch.setattr(Path, "rename", noting("rename", rename))
    folder.store_failure(outcome(unit(0), "failed", "hollow"))
    assert done.index("fsync") < done.index("rename")


def test_what_cannot_be_read_is_said(folder: SweepFolder) -> None:
    folder.results("k").mkdir()
    with pytest.raises(InputError, match=r"site.json:1: cannot be read"):
        folder.outcome("k")
    with pytest.raises(InputError, match=r"no sweep there"):
        folder.read_asked()
    folder.write_asked({"pages": "x"})
    assert sweeps(folder.path.parent) == ["x"]


@pytest.mark.root
def test_another_users_sweep_is_one_line(open_to_all: Path) -> None:
    """--report, --pages and --resume ended in a traceback, and --status said of one that ran: not running."""
    sweep = SweepFolder(open_to_all, "x")
    sweep.make()
    for folder in (sweep.path, sweep.sites, sweep.recordings):
        folder.chmod(0o755)
    with sweep.only_driver():
        with acting_as(ORDINARY), pytest.raises(InputError, match=r"this sweep is another user's; put sudo in"):
            sweep.driver()
        with acting_as(ORDINARY), pytest.raises(InputError, match=r"cannot be made or written \(Permission denied\)"):
            sweep.make()
