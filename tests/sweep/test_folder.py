"""sweep-NAME/ and who may change it: results appear in one step and never change; a sweep has one driver."""

import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import FILE
from harness.system.untrusted import UnreadableFileError
from tests.support.made_units import outcome, unit
from tests.support.started import started


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    made = SweepFolder(tmp_path, "x")
    made.make()
    return made


def test_results_are_kept_under_their_key_and_never_change(folder: SweepFolder) -> None:
    key = unit().key
    assert folder.outcome(key) is None
    for content, status in ((b"first", "measured"), (b"second", "failed")):
        folder.store(outcome(unit(), status), {"client/10-0-tfo-0/a": content})    # type: ignore[arg-type]
        assert folder.outcome(key) == outcome(unit())
        assert (folder.results(key) / "client" / "10-0-tfo-0" / "a").read_bytes() == b"first"
    assert folder.statuses([key, unit(1).key]) == {"measured": 1}
    assert [path.name for path in folder.sites.iterdir()] == [key]


@pytest.mark.parametrize("name", ["../out", "/out", "client/../../out"])
def test_a_file_that_leads_elsewhere_is_not_written(folder: SweepFolder, name: str) -> None:
    with pytest.raises(ValueError):
        folder.store(outcome(unit()), {name: b"1"})
    assert not list(folder.sites.iterdir())
    assert not (folder.path / "out").exists()


def test_failures_are_rows_until_they_are_tried_again(folder: SweepFolder) -> None:
    for number, status in enumerate(("measured", "partly", "failed")):
        folder.store(outcome(unit(number), status), {})     # type: ignore[arg-type]
    assert folder.forget_failures() == 1
    assert [bool(folder.outcome(unit(number).key)) for number in range(3)] == [True, True, False]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 99}', b'{"format": 2, "key": 1}',
                                     b'{"key": "../../x", "url": "http://a.test/", "status": "measured"}'])
def test_what_cannot_be_read_is_said(folder: SweepFolder, content: bytes) -> None:
    folder.store(outcome(unit()), {})
    (folder.results(unit().key) / FILE).write_bytes(content)
    with pytest.raises(UnreadableFileError):
        folder.outcome(unit().key)


def test_a_sweep_has_one_driver_which_removes_what_a_killed_one_left_half_done(folder: SweepFolder) -> None:
    """Locks of fcntl(2) are a process's: so another process holds it."""
    code = ("import sys; from pathlib import Path; from harness.sweep.folder import SweepFolder\n"
            "with SweepFolder(Path(sys.argv[1]), 'x').only_driver(): print('ready', flush=True); sys.stdin.read()")
    with started(sys.executable, "-c", code, str(folder.path.parent)):
        for half in (folder.sites / ".a", folder.recordings / ".b"):
            (half / "client").mkdir(parents=True)
        with pytest.raises(InputError), folder.only_driver():
            pass
        assert half.is_dir(), "the other one's"
    with folder.only_driver():
        assert not [*folder.sites.iterdir(), *folder.recordings.iterdir()]
