"""A unit on a worker's machine: root follows no link that Chrome's user puts into the folder that it was given."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from harness.errors import ExitStatus, InputError
from harness.files.reason_kinds import ReasonKind
from harness.sweep import measuring
from harness.sweep.measuring import Contents, NotMeasuredError, judge, measure
from harness.sweep.plan import UnitOutcome
from harness.system.privileges import give, invoking_user
from tests.support.client_folder import make_client
from tests.support.made_units import VERSIONS, unit
from tests.support.ordinary import acting_as

USER = 54321
TFO_PY = """
import os, pathlib, sys
place = pathlib.Path(sys.argv[sys.argv.index("--dir") + 1])
if os.geteuid() == 0 and "SUDO_UID" in os.environ:
    os.setresgid(*[int(os.environ["SUDO_GID"])] * 3)
    os.setresuid(*[int(os.environ["SUDO_UID"])] * 3)
"""


Measured = Callable[..., tuple[UnitOutcome, Contents]]


@pytest.fixture
def measured(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Measure a unit where a small program stands for tfo.py, which has the unit's folder as `place`."""
    scratch, project = open_to_all / "scratch", open_to_all / "project"
    scratch.mkdir()
    project.mkdir()
    for name, stand_in in (("temporary_directory", lambda: nullcontext(scratch)), ("ROOT", project),
                           ("own_versions", lambda: VERSIONS), ("require_root", lambda _: None), ("BUSY_S", 0.1)):
        monkeypatch.setattr(measuring, name, stand_in)

    def measured(program: str, wait_s: float = 0) -> tuple[UnitOutcome, Contents]:
        (project / "tfo.py").write_text(TFO_PY + program)
        with acting_as(invoking_user()):        # it does not come back from that
            return measure(unit(), {}, (wait_s, 0))
    return measured


def test_links_in_the_users_folder_lead_nothing_astray(measured: Measured, open_to_all: Path) -> None:
    victim = open_to_all / "victim"
    victim.write_text("as it was")
    with pytest.raises(NotMeasuredError) as error:
        measured(f"""
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
""")
    assert victim.read_text() == "as it was"
    outcome, files = error.value.args[0]
    assert outcome.why == ("what tfo.py says",)
    assert sorted(files) == ["client/good", "console.log"]
    assert files["console.log"] == b"what tfo.py says\n"


@pytest.mark.root
def test_root_gives_nothing_away_that_the_user_may_not_read(measured: Measured, open_to_all: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be exchanged for a link after it was looked at: so root reads as the user."""
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(USER))
    give(open_to_all, invoking_user())
    of_root = open_to_all / "of root"
    of_root.mkdir()
    (of_root / "secret").write_text("secret")
    (of_root / "secret").chmod(0o600)
    monkeypatch.setattr(measuring, "RESULTS", ("client/secret",))
    with pytest.raises(NotMeasuredError) as error:
        measured(f"(place / 'client').symlink_to({str(of_root)!r})\nsys.exit(1)")
    assert sorted(error.value.args[0][1]) == ["console.log"]


@pytest.mark.parametrize(("status", "tells"), [
    (ExitStatus.WRONG_INPUT, "failed"), (ExitStatus.INCOMPLETE, "again"), (ExitStatus.BUSY, "again"), (-9, "again"),
    (0, "again"), (ExitStatus.UNAVAILABLE, "unfit")])
def test_only_what_the_page_is_to_blame_for_is_final(measured: Measured, status: int, tells: str) -> None:
    """The end of another experiment is waited for, as long as --wait says."""
    program = f"print('why')\nos.kill(os.getpid(), 9) if {status} < 0 else sys.exit({status})"
    busy_once = "mark = place / 'busy'\nif not mark.exists():\n    mark.touch()\n    sys.exit(75)\n"
    if tells == "again":
        with pytest.raises(NotMeasuredError):
            measured(program)
        return
    outcome, _ = measured(busy_once + program, wait_s=60)
    assert (outcome.status, outcome.why) == (tells, ("why",))


def test_a_machine_that_cannot_measure_says_so_before_it_does(measured: Measured,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    for name, changed in (("own_versions", lambda: replace(VERSIONS, browser="another")),
                          ("require_root", Mock(side_effect=InputError("no root")))):
        monkeypatch.setattr(measuring, name, changed)
        assert measured("place.unlink()")[0].status == "unfit"


@pytest.mark.parametrize("changed", [{}, {"browser": "the next Chrome"}, {"tfo_lab": "the next program"}])
def test_what_was_updated_while_a_worker_ran_does_not_mix(tmp_path: Path, changed: dict[str, str]) -> None:
    of, work_dir = unit(), tmp_path / "unit"
    make_client(work_dir / "client", (10,), [of.url], **{**asdict(VERSIONS), **changed})
    assert judge(of, work_dir, 0).status == ("unfit" if changed else "measured")
    assert judge(of, work_dir, 1).status == ("unfit" if changed else "partly")


def test_what_speaks_against_loads_is_counted_by_its_kind(tmp_path: Path) -> None:
    of, client = unit(), tmp_path / "unit" / "client"
    make_client(client, (10,), [of.url])
    for number, path in enumerate(sorted(client.glob("10-*-tfo-0/*.json"))):
        spoiled = {"valid": False, "why_not": [f"{number} SYNs again", f"{number} ms late"],
                   "why_not_kinds": [ReasonKind.SYN_AGAIN, ReasonKind.LATE_PACKETS][:1 + (number == 0)]}
        path.write_text(json.dumps({**json.loads(path.read_text()), **spoiled}))
    outcome = judge(of, tmp_path / "unit", 1)
    assert outcome.why == tuple(f"{count} of 8 loads: {kind.value}" for kind, count in (
        (ReasonKind.SYN_AGAIN, 4), (ReasonKind.LATE_PACKETS, 1)))
