"""A unit on a worker's machine: root follows no link that Chrome's user puts into the folder that it was given."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.errors import BusyError, ExitStatus, MachineError
from harness.sweep import measuring
from harness.sweep.measuring import (
    PARTS,
    SITE,
    Contents,
    NotMeasuredError,
    Patience,
    UnfitError,
    judge,
    measure,
    read_files,
    take_part,
)
from harness.sweep.outcome import UnitOutcome
from harness.system.privileges import give, invoking_user
from tests.support.client_folder import make_client
from tests.support.made_units import VERSIONS, unit
from tests.support.ordinary import acting_as
from tests.support.small_mirror import SmallMirror

URL = "http://one.test/"
USER = 54321
CHECKS = ("check_programs", "check_browser", "check_room", "delays_by_netem")
TFO_PY = """
import os, pathlib, sys
place = pathlib.Path(sys.argv[sys.argv.index("--dir") + 1])
if os.geteuid() == 0 and "SUDO_UID" in os.environ:
    os.setresgid(*[int(os.environ["SUDO_GID"])] * 3)
    os.setresuid(*[int(os.environ["SUDO_UID"])] * 3)
"""


class Host:
    """A machine on which a small program stands for tfo.py, and whose lock nobody wants."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scratch, self.project = folder, folder / "scratch", folder / "project"
        for made in (self.scratch, self.project, folder / "source"):
            made.mkdir()
        mirror = SmallMirror(folder / "source", SITE)
        mirror.add(URL, "one")
        mirror.finish(URL)

    def measure(self, program: str, delays: tuple[float, ...] = (10.0,)) -> tuple[UnitOutcome, Contents]:
        """Measure a unit by `program`, which has its folder as `place`; return its outcome and files."""
        (self.project / "tfo.py").write_text(TFO_PY + program)
        with acting_as(invoking_user()):        # it does not come back from that
            return measure(unit(url=URL, delays=delays, options=()), read_files(self.folder / "source", PARTS),
                           Patience(0, 0))


@pytest.fixture
def here(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(open_to_all)

    @contextmanager
    def scratch() -> Iterator[Path]:
        yield made.scratch

    @contextmanager
    def lock(_: float) -> Iterator[int]:
        with (open_to_all / "lock").open("w") as file:
            yield file.fileno()
    monkeypatch.setattr(measuring, "temporary_directory", scratch)
    monkeypatch.setattr(measuring, "lent_lock", lock)
    monkeypatch.setattr(measuring, "own_versions", lambda: VERSIONS)
    monkeypatch.setattr(measuring, "ROOT", made.project)
    for check in (*CHECKS, "require_root"):
        monkeypatch.setattr(measuring, check, lambda *_, **__: None)
    return made


def test_links_in_the_users_folder_lead_nothing_astray(here: Host) -> None:
    victim = here.folder / "victim"
    victim.write_text("as it was")
    with pytest.raises(NotMeasuredError) as error:
        here.measure(f"""
for name in ("console.log", "site.json"):
    (place / name).unlink(missing_ok=True)
    (place / name).symlink_to({str(victim)!r})
client = place / "client"
client.mkdir(exist_ok=True)
(client / "good").write_text("good")
if not (client / "link").exists():
    (client / "link").symlink_to({str(victim)!r})
    os.mkfifo(client / "fifo")
    (place / "serverlogs").symlink_to("/etc")
print("what tfo.py says", flush=True)
sys.exit(1)
""", (10.0, 50.0))
    assert victim.read_text() == "as it was"
    outcome, files = error.value.args[0]
    assert outcome.why == ("what tfo.py says",)
    assert sorted(files) == ["client/good", "console.log"]
    assert files["console.log"] == b"what tfo.py says\n" * 2


@pytest.mark.root
def test_root_gives_nothing_away_that_the_user_may_not_read(here: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be exchanged for a link after it was looked at: so root reads as the user."""
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(USER))
    give(here.folder, invoking_user())
    of_root = here.folder / "of root"
    of_root.mkdir()
    (of_root / "secret").write_text("secret")
    (of_root / "secret").chmod(0o600)
    monkeypatch.setattr(measuring, "RESULTS", ("client/secret",))
    with pytest.raises(NotMeasuredError) as error:
        here.measure(f"(place / 'client').symlink_to({str(of_root)!r})\nsys.exit(1)")
    assert sorted(error.value.args[0][1]) == ["console.log"]


@pytest.mark.parametrize("check", CHECKS)
def test_a_machine_that_lacks_something_takes_no_part(here: Host, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    assert not take_part(VERSIONS)

    def lacks(*_: object, **__: object) -> None:
        raise MachineError("/tmp: 3 MB free")
    monkeypatch.setattr(measuring, check, lacks)
    assert take_part(VERSIONS)
    with pytest.raises(UnfitError):
        here.measure("sys.exit(0)")


@pytest.mark.parametrize(("status", "raised"), [
    (ExitStatus.WRONG_INPUT, None), (ExitStatus.INCOMPLETE, NotMeasuredError), (ExitStatus.BUSY, NotMeasuredError),
    (ExitStatus.UNAVAILABLE, UnfitError), (-9, NotMeasuredError), (0, NotMeasuredError)])
def test_only_what_the_page_is_to_blame_for_is_final(here: Host, status: int, raised: type[Exception] | None) -> None:
    program = f"print('why')\nos.kill(os.getpid(), 9) if {status} < 0 else sys.exit({status})"
    if raised is None:
        outcome, _ = here.measure(program)
        assert (outcome.status, outcome.why) == ("failed", ("why",))
        return
    with pytest.raises(raised):
        here.measure(program)


def test_another_experiment_is_no_fault_of_the_page(here: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_: float) -> None:
        raise BusyError("another experiment is running")
    monkeypatch.setattr(measuring, "lent_lock", busy)
    with pytest.raises(NotMeasuredError):
        here.measure("")


@pytest.mark.parametrize("changed", [{}, {"browser": "the next Chrome"}, {"tfo_lab": "the next program"}])
def test_what_was_updated_while_a_worker_ran_does_not_mix(tmp_path: Path, changed: dict[str, str]) -> None:
    of, work_dir = unit(), tmp_path / "unit"
    make_client(work_dir / "client", (10,), [of.url], **{**asdict(VERSIONS), **changed})
    if not changed:
        assert judge(of, work_dir, whole=True).status == "measured"
        return
    with pytest.raises(UnfitError):
        judge(of, work_dir, whole=True)
