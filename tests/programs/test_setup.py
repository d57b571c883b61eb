"""What scripts/setup.sh installs and when, with stand-ins for the distribution's tools that write down their calls."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.system.privileges import User
from tests.support.ran import ran

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
ALICE = User("alice", 12345, 12346)

ALL_INSTALLED = 'shift 3; for package; do [ "$package" = "$MISSING" ] || echo "installed $package"; done'
"""Stand-in for dpkg-query: everything asked for is installed, but the package $MISSING."""


@dataclass(frozen=True)
class Project:
    """A copy of what setup.sh needs, with empty requirements, and the stand-ins' record of their calls."""

    root: Path
    tools: Path
    calls: Path

    def setup(self, *arguments: str, prefix: tuple[str, ...] = (), user: int | None = None,
              status: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run setup.sh with the stand-ins first in PATH."""
        environment = {"PATH": f"{self.tools}:/usr/bin:/bin", "TMPDIR": str(self.root), **environment}
        return ran(*prefix, self.root / "scripts" / "setup.sh", *arguments, status=status, cwd="/", env=environment,
                   user=user, group=user, extra_groups=[] if user else None)

    def stand_in(self, name: str, script: str) -> None:
        """Put a shell script in the place of a command."""
        tool = self.tools / name
        tool.write_text(f'#!/bin/sh\necho {name} $* | tr "\\n" " " >>{self.calls}; echo >>{self.calls}\n{script}\n')
        tool.chmod(0o755)

    def calls_made(self) -> list[str]:
        """Return the calls of apt-get and pip, each as its command line."""
        calls = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [call.strip() for call in calls if not call.startswith("dpkg-query")]


@pytest.fixture
def project() -> Iterator[Project]:
    with made_project() as made:
        yield made


@contextmanager
def made_project() -> Iterator[Project]:
    """Copy setup.sh to where every user can read it (pytest's tmp_path is its owner's alone)."""
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        made = Project(Path(name), Path(name) / "tools", Path(name) / "calls")
        made.root.chmod(0o777)
        for directory in (made.tools, made.root / "scripts", made.root / "requirements"):
            directory.mkdir()
        shutil.copy(ROOT / "scripts" / "setup.sh", made.root / "scripts")
        for file in ROOT.glob("requirements/*.txt"):
            (made.root / "requirements" / file.name).write_text("# nothing\n")
        made.stand_in("dpkg-query", ALL_INSTALLED)
        made.stand_in("apt-get", "exit 100")
        yield made


@pytest.fixture(scope="module")
def environment() -> Iterator[Project]:
    """Give a project whose environment is made, which takes seconds: its tests leave it whole."""
    with made_project() as made:
        first = made.setup(status=0, SUDO_UID=str(ALICE.uid), SUDO_GID=str(ALICE.gid))
        assert "making the Python environment" in first.stdout
        yield made


@pytest.mark.root
def test_environment_belongs_to_who_called_sudo(environment: Project) -> None:
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in (environment.root / ".venv").rglob("*")}
    assert owners == {(ALICE.uid, ALICE.gid)}


def test_second_run_installs_nothing(environment: Project) -> None:
    project = environment
    python = project.root / ".venv" / "bin" / "python"
    sees_mininet = ran(python, "-c", "import sys; print('/usr/lib/python3/dist-packages' in sys.path)", status=0)
    assert sees_mininet.stdout == "True\n"
    # From here on, an environment that pip touches is a failure.
    real = python.readlink()
    python.unlink()
    python.symlink_to("/bin/false")
    second = project.setup()
    python.unlink()
    python.symlink_to(real)
    assert (second.returncode, second.stdout, second.stderr) == (0, "setup: everything is there\n", "")
    assert project.calls_made() == []
    assert not list(project.root.glob("tfo-lab-setup-*"))


@pytest.mark.root
def test_only_what_is_missing_is_installed_also_for_root_by_su(environment: Project) -> None:
    """Without `-`, su leaves the PATH of a user, and dpkg does nothing without /usr/sbin in it."""
    environment.stand_in("apt-get", f"echo path $PATH >>{environment.calls}")
    environment.setup(status=0, MISSING="tcpdump")
    update, first, install, second = environment.calls_made()
    assert update.endswith("update")
    assert install.endswith("--no-install-recommends install tcpdump")
    assert all("/usr/sbin" in path.split(":") for path in (first, second))


def test_moved_clone_gets_a_new_environment(environment: Project) -> None:
    """An environment does not survive being moved: the programs in its bin/ name the old place."""
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        shutil.copytree(environment.root, name, symlinks=True, dirs_exist_ok=True)
        moved = Project(Path(name), environment.tools, environment.calls)
        assert "making the Python environment" in moved.setup().stdout
        assert (moved.root / ".venv" / "bin" / "pip").read_text().startswith(f"#!{name}/")
        assert moved.setup().stdout == "setup: everything is there\n"


def test_other_requirements_are_installed_again_where_they_are_wanted(environment: Project) -> None:
    environment.setup("--tests", status=0)
    (environment.root / "requirements/test.txt").write_text("# something else\n")
    assert environment.setup().stdout == "setup: everything is there\n"
    assert "requirements/test.txt" in environment.setup("--tests").stdout
    assert environment.setup("--tests").stdout == "setup: everything is there\n"


WITH_SYSTEMD = ("unshare", "--mount", "sh", "-c",
                'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$@"', "sh")


@pytest.mark.root
@pytest.mark.parametrize(("served", "ended"), [("active", False), ("no", True)])
def test_a_web_server_of_the_users_goes_on(served: str, ended: bool, environment: Project) -> None:
    """On Debian 12 nginx-light is a few modules beside nginx, whose service may have been there before."""
    environment.stand_in("apt-get", "exit 0")
    environment.stand_in("systemctl", 'case "$1" in is-*) [ "$1" = "is-$SERVED" ] ;; esac')
    environment.setup("--tests", status=0, prefix=WITH_SYSTEMD, MISSING="nginx-light", SERVED=served)
    assert ("systemctl disable --now nginx" in environment.calls_made()) is ended
    environment.calls.unlink()


@pytest.mark.root
def test_failed_installation_names_command_and_log(project: Project) -> None:
    project.stand_in("apt-get", "echo E: no such package; exit 100")
    answer = project.setup(status=1, MISSING="mininet")
    *tail, last = answer.stderr.splitlines()
    assert "E: no such package" in tail
    assert last.startswith("setup: failed with status 100: apt-get ")
    log = Path(last.rpartition("the whole log: ")[2])
    assert "install mininet" in log.read_text()


@pytest.mark.root
def test_missing_package_without_root_is_one_line(project: Project) -> None:
    answer = project.setup(status=2, MISSING="mininet", user=NOBODY)
    assert answer.stderr.startswith("setup: root is needed to install mininet; run: sudo ")
    assert answer.stderr.count("\n") == 1
    assert project.calls_made() == []


@pytest.mark.root
@pytest.mark.parametrize(("release", "browser", "complains", "asks_for_chromium"), [
    ("ID=debian", "", False, True),
    ('ID="ubuntu"\nID_LIKE=debian', "", True, False),
    ('ID=pop\nID_LIKE="ubuntu debian"', "google-chrome-stable", False, False),
])
def test_browser_by_distribution(project: Project, release: str, browser: str, complains: bool,
                                 asks_for_chromium: bool) -> None:
    (project.root / "os-release").write_text(f"NAME=x\nVERSION_ID=1\n{release}\n")
    if browser:
        project.stand_in(browser, "")
    # The package missing stops the run early; the mount ends with the namespace.
    mounted = f'mount --bind {project.root}/os-release /etc/os-release && exec "$0" "$@"'
    answer = project.setup(status=1, MISSING="mininet", prefix=("unshare", "--mount", "sh", "-c", mounted))
    assert ("no google-chrome" in answer.stderr) == complains
    assert ("chromium" in project.calls.read_text()) == asks_for_chromium


def test_unknown_argument_is_bad_use(project: Project) -> None:
    answer = project.setup("--test", status=2)
    assert "unknown argument: --test" in answer.stderr


def test_pins_are_exact_and_named_once() -> None:
    """A version that is not pinned would change under a user's hands."""
    names = []
    for file in ("requirements/run.txt", "requirements/sweep.txt", "requirements/test.txt", "requirements/build.txt"):
        for line in (ROOT / file).read_text().splitlines():
            requirement = line.partition("#")[0].partition(";")[0].strip()
            if requirement:
                name, pinned, version = requirement.partition("==")
                assert (pinned, bool(version)) == ("==", True), f"{file}: {requirement} has no exact version"
                names.append(name.lower().replace("_", "-"))
    assert len(names) == len(set(names))
