"""A unit on a worker's machine: root follows no link that Chrome's user puts into the folder that it was given."""

import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.resume import recording_digest
from harness.sweep import measuring
from harness.sweep.measuring import PARTS, SITE, Bed, judge, measure_unit
from harness.sweep.outcome import UnitOutcome
from harness.sweep.parcel import pack
from harness.sweep.plan import Unit, UnitSettings
from tests.support.client_folder import make_client
from tests.support.made_units import VERSIONS, machine, unit
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


class Machine:
    """A machine on which a small program stands for tfo.py, and whose lock nobody wants."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scratch, self.project = folder, folder / "scratch", folder / "project"
        for made in (self.scratch, self.project, folder / "source"):
            made.mkdir()
        mirror = SmallMirror(folder / "source", SITE)
        mirror.add(URL, "one")
        mirror.finish(URL)

    def measure(self, program: str, delays: tuple[float, ...] = (10.0,)) -> tuple[UnitOutcome, dict[str, bytes]]:
        """Measure a unit by `program`, which has its folder as `place`; return its outcome and the parcel's files."""
        (self.project / "tfo.py").write_text(TFO_PY + program)
        source = self.folder / "source"
        made = Unit(URL, recording_digest(PageFiles(source, SITE)), UnitSettings(delays), VERSIONS)
        outcome, parcel = measure_unit(Bed(machine("lab"), 0, 0), made, pack(source, PARTS), lambda: True)
        with tarfile.open(fileobj=BytesIO(parcel)) as tar:
            assert all(member.isreg() for member in tar)
            return outcome, {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


@pytest.fixture
def here(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(open_to_all)

    @contextmanager
    def scratch() -> Iterator[Path]:
        yield made.scratch

    @contextmanager
    def lock(_: float, __: Callable[[], bool]) -> Iterator[int]:
        with (open_to_all / "lock").open("w") as file:
            yield file.fileno()
    monkeypatch.setattr(measuring, "temporary_directory", scratch)
    monkeypatch.setattr(measuring, "lent_lock", lock)
    monkeypatch.setattr(measuring, "own_versions", lambda: VERSIONS)
    monkeypatch.setattr(measuring, "ROOT", made.project)
    for check in CHECKS:
        monkeypatch.setattr(measuring, check, lambda *_, **__: None)
    return made


def test_links_in_the_users_folder_lead_nothing_astray(here: Machine) -> None:
    victim = here.folder / "victim"
    victim.write_text("as it was")
    outcome, files = here.measure(f"""
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
    assert outcome.exits == {"10": 1, "50": 1}
    assert outcome.why == ("what tfo.py says",)
    assert sorted(files) == ["client/good", "console.log", "site.json"]
    assert files["console.log"] == b"what tfo.py says\n" * 2
    assert files["site.json"].decode() == outcome.to_json()


@pytest.mark.root
def test_root_gives_nothing_away_that_the_user_may_not_read(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be exchanged for a link after it was looked at: so root reads as the user."""
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(USER))
    of_root = here.folder / "of root"
    of_root.mkdir()
    (of_root / "secret").write_text("secret")
    (of_root / "secret").chmod(0o600)
    monkeypatch.setattr(measuring, "MEASURED", ("client/secret",))
    _, files = here.measure(f"(place / 'client').symlink_to({str(of_root)!r})\nsys.exit(1)")
    assert sorted(files) == ["console.log", "site.json"]


@pytest.mark.parametrize("check", CHECKS)
def test_a_sick_machine_blames_no_page(here: Machine, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    """It refuses the unit, so that the driver dismisses it, and others measure the unit."""
    def sick(*_: object, **__: object) -> None:
        raise InputError("/tmp: 3 MB free")
    monkeypatch.setattr(measuring, check, sick)
    outcome, files = here.measure("sys.exit(2)")
    assert (outcome.status, outcome.why, outcome.of_the_page) == ("refused", ("/tmp: 3 MB free",), False)
    assert list(files) == ["site.json"]


def test_a_page_that_tfo_py_refuses_is_to_blame(here: Machine) -> None:
    outcome, _ = here.measure("print('an empty document')\nsys.exit(2)")
    assert (outcome.status, outcome.why, outcome.of_the_page) == ("failed", ("an empty document",), True)


@pytest.mark.parametrize(("changed", "status"), [
    ({}, "measured"), ({"browser": "the next Chrome"}, "refused"), ({"tfo_lab": "the next program"}, "refused")])
def test_what_was_updated_while_a_worker_ran_does_not_mix(tmp_path: Path, changed: dict[str, str], status: str) -> None:
    """The worker knew the versions of its start only; the results of two stood in one table."""
    of, work_dir = unit(), tmp_path / "unit"
    make_client(work_dir / "client", (10,), [of.url], **{**asdict(VERSIONS), **changed})
    found = judge(of, work_dir, {"10": 0})
    assert found.status == status
    assert all(version in "".join(found.why) for version in changed.values())
