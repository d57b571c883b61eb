"""run.sh as a student types it, in a copy of the project with a small mirror."""

import fcntl
import os
import re
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.show.console import HEADER
from harness.system.lock import MACHINES
from tests.support.ordinary import ORDINARY, SUDO
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran
from tests.support.recording import chain_of_hosts

ROOT_FASTOPEN = Path("/proc/sys/net/ipv4/tcp_fastopen")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the project with a small mirror."""
    return chain_of_hosts(copy_project(tmp_path / "project"), hosts=2)


def run(project: Path, *options: str, status: int | None = None, **environment: str
        ) -> "subprocess.CompletedProcess[str]":
    return ran(*typed(project, "./run.sh", *options), status=status, env={**os.environ, **environment})


def older_results(project: Path) -> Path:
    """Leave results in the project, all of which is the user's then, and links of every name that these may get soon.

    These lead to a folder of root's, which is returned.
    """
    of_root = project.parent / "of_root"
    of_root.mkdir(mode=0o700)
    (project / "client").mkdir()
    (project / "client" / "precious").touch()
    now = datetime.now()                                            # noqa: DTZ005 - as run.sh names it
    for second in range(100):
        (project / f"results-{now + timedelta(seconds=second):%Y%m%d-%H%M%S}").symlink_to(of_root)
    for path in (project, *project.rglob("*")):
        os.lchown(path, ORDINARY.uid, ORDINARY.gid)
    return of_root


def kept_results(project: Path) -> list[Path]:
    return [path for path in sorted(project.glob("results-*")) if not path.is_symlink()]


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
def test_a_run_loses_nothing_and_then_there_is_nothing_to_resume(project: Path) -> None:
    """By sudo: its results are the user's."""
    fastopen_before, of_root = ROOT_FASTOPEN.read_text(), older_results(project)
    done = run(project, "--name", "small", "--quick", "--quiet", "0.3", "--patience", "0", "--sweep-rtt", "2,20",
               "--tfo", "1", "--pcap", "--format", "svg", status=0, **SUDO)
    assert not list(of_root.iterdir())
    [older] = kept_results(project)
    assert (older / "client" / "precious").exists()
    results = [path for name in ("client", "serverlogs", "output-figures") for path in (project / name).rglob("*")]
    assert {"loads.csv", "httpwww.nytimes.com.pcap", "timing-www.nytimes.com-2.svg", "timing-www.nytimes.com-20.svg"
            } <= {path.name for path in results}
    assert {path.lstat().st_uid for path in (older, *results)} == {ORDINARY.uid}
    assert "setup: everything is there" in done.stdout
    assert [line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("\t")][:2] == ["2", "20"]
    log = (project / "client" / "run.log").read_text()
    assert re.match(r"# [-\d]+ [:\d]+ \./tfo\.py ", log), log
    for words in ("= 3 page loads; ", f"{older.name}/\n", "[  1/"):
        assert words in log
        assert words in done.stdout
    assert "timing-www.nytimes.com-20.svg\n" in log
    assert "timing-www.nytimes.com-20.svg\n" in done.stderr
    assert log.endswith(table_of(done))
    nothing_to_resume(project, done)
    assert kept_results(project) == [older]
    assert ROOT_FASTOPEN.read_text() == fastopen_before


def nothing_to_resume(project: Path, done: "subprocess.CompletedProcess[str]") -> None:
    """Resume a run that is complete: no load is measured or moved, and the table is the same."""
    before = contents(project / "client")
    resumed = run(project, "--resume", status=0, **SUDO)
    assert "20 ms: all 1 measured loads are there\n" in resumed.stdout
    assert table_of(resumed) == table_of(done)
    now = contents(project / "client")
    log, first = now.pop("run.log"), before.pop("run.log")
    assert log.startswith(first)
    assert log.removeprefix(first).endswith(table_of(done).encode())
    assert now == before


def table_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the table and all that was printed after it, on standard output."""
    return done.stdout[done.stdout.index(HEADER):]


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.root
def test_small_is_made_and_knows_how_far_its_servers_were(project: Path) -> None:
    """And its servers, an ordinary user's, can read it whatever root's umask is."""
    as_root = typed(project, "env", "SUDO_UID=0", "SUDO_GID=0", "./run.sh", "--name", "Small")
    done = ran(*as_root, "--rtt", "recorded", "--dry-run", status=0, umask=0o077)
    assert all(path.stat().st_mode & 0o004 for path in (project / "Small").rglob("*"))
    assert "= 16 page loads" in done.stdout


@pytest.mark.root
def test_a_clone_that_sudo_made_is_told_so(project: Path) -> None:
    """`sudo git clone` is typed often: all of the folder is root's, and no page can be made there."""
    ran("chmod", "-R", "go+rX", project, status=0)
    done = run(project, "--name", "Small", "--dry-run", status=2, **SUDO)
    assert done.stderr.endswith(f"sudo chown -R {ORDINARY.uid} {ROOT}\n")
    assert "Traceback" not in done.stderr


@pytest.mark.root
def test_bad_input_moves_no_results(project: Path) -> None:
    (project / "client").mkdir()
    (project / "client" / "precious").touch()
    refused = run(project, "--name", "nothing", status=2)
    assert "nothing.pages:1: cannot be read (there is no such file)" in refused.stderr.splitlines()[-1]
    localhost = os.open(MACHINES.folder, os.O_RDONLY)
    fcntl.flock(localhost, fcntl.LOCK_EX)           # as experiments/localhost.py does for somebody without root
    done = run(project, "--name", "small", "--quick", status=75)
    os.close(localhost)
    assert done.stderr.startswith(f"{MACHINES.folder}: another experiment is running: ")
    assert (project / "client" / "precious").exists()
    assert not kept_results(project)


def test_without_root_it_says_what_to_type() -> None:
    done = ran("bash", "-c", 'id() { echo 1000; }; export -f id; "$0"', ROOT / "run.sh")
    assert_refused(done)
    assert "sudo ./run.sh" in done.stderr
