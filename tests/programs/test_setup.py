"""What scripts/setup.sh installs and when, with stand-ins for the distribution's tools that write down their calls."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ordinary import AS_ORDINARY, ORDINARY, SUDO
from tests.support.ran import assert_refused, ran

THERE = "setup: everything is there\n"

ALL_INSTALLED = 'shift 3; for package; do [ "$package" = "$MISSING" ] || echo "installed $package"; done'
"""Stand-in for dpkg-query: everything asked for is installed, but the package $MISSING."""


class Project:
    """A copy of what setup.sh needs, with empty requirements, and the stand-ins' record of their calls."""

    def __init__(self, root: Path) -> None:
        self.root, self.tools, self.calls = root, root / "tools", root / "calls"

    def setup(self, *arguments: str, prefix: tuple[str, ...] = (), status: int = 0, **environment: str
              ) -> subprocess.CompletedProcess[str]:
        """Run setup.sh with the stand-ins first in PATH."""
        environment = {"PATH": f"{self.tools}:/usr/bin:/bin", "TMPDIR": str(self.root), **environment}
        return ran(*prefix, self.root / "scripts" / "setup.sh", *arguments, status=status, cwd="/", env=environment)

    def stand_in(self, **scripts: str) -> None:
        """Put shell scripts in the places of commands (`_` for `-`), and forget what was called."""
        self.calls.unlink(missing_ok=True)
        for name, script in scripts.items():
            tool = self.tools / name.replace("_", "-")
            tool.write_text(f'#!/bin/sh\necho {tool.name} $* | tr "\\n" " " >>{self.calls}; echo >>{self.calls}\n'
                            f'{script}\n')
            tool.chmod(0o755)

    def calls_made(self) -> list[str]:
        """Return the calls of apt-get and pip, each as its command line."""
        calls = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [call.strip() for call in calls if not call.startswith("dpkg-query")]


@pytest.fixture(scope="module")
def environment() -> Iterator[Project]:
    """Give a project whose environment is made, which takes seconds: its tests leave it whole.

    It is where every user can read it: pytest's tmp_path is its owner's alone.
    """
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        made = Project(Path(name))
        made.root.chmod(0o777)
        for directory in (made.tools, made.root / "scripts", made.root / "requirements"):
            directory.mkdir()
        shutil.copy(ROOT / "scripts" / "setup.sh", made.root / "scripts")
        for file in ROOT.glob("requirements/*.txt"):
            (made.root / "requirements" / file.name).write_text("# nothing\n")
        made.stand_in(dpkg_query=ALL_INSTALLED)
        first = made.setup(prefix=(), status=0, **SUDO)
        assert "making the Python environment" in first.stdout
        yield made


@pytest.fixture
def project(environment: Project) -> Iterator[Project]:
    """Give it with no stand-ins but those of every test."""
    environment.stand_in(apt_get="exit 100")
    yield environment
    for tool in environment.tools.iterdir():
        if tool.name != "dpkg-query":
            tool.unlink()


@pytest.mark.root
def test_environment_is_the_callers_sees_mininet_and_is_made_once(project: Project) -> None:
    venv = project.root / ".venv"
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in venv.rglob("*")} == {(ORDINARY.uid, ORDINARY.gid)}
    sees_mininet = "import sys; sys.exit('/usr/lib/python3/dist-packages' not in sys.path)"
    ran(venv / "bin" / "python", "-c", sees_mininet, status=0)
    second = project.setup()
    assert (second.stdout, second.stderr, project.calls_made()) == (THERE, "", [])
    assert not list(project.root.glob("tfo-lab-setup-*"))


@pytest.mark.root
def test_only_what_is_missing_is_installed_also_for_root_by_su(project: Project) -> None:
    """Without `-`, su leaves the PATH of a user, and dpkg does nothing without /usr/sbin in it."""
    project.stand_in(apt_get=f"echo path $PATH >>{project.calls}")
    project.setup(MISSING="tcpdump")
    update, first, install, second = project.calls_made()
    assert update.endswith("update")
    assert install.endswith("--no-install-recommends install tcpdump")
    assert all("/usr/sbin" in path.split(":") for path in (first, second))


def test_moved_clone_gets_a_new_environment(project: Project) -> None:
    """An environment does not survive being moved: the programs in its bin/ name the old place."""
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        moved = Project(shutil.copytree(project.root, Path(name), symlinks=True, dirs_exist_ok=True))
        assert "making the Python environment" in moved.setup().stdout
        assert (moved.root / ".venv" / "bin" / "pip").read_text().startswith(f"#!{name}/")
        assert moved.setup().stdout == THERE


def test_other_requirements_are_installed_again_where_they_are_wanted(project: Project) -> None:
    project.setup("--tests")
    (project.root / "requirements/test.txt").write_text("# something else\n")
    assert project.setup().stdout == THERE
    assert "requirements/test.txt" in project.setup("--tests").stdout
    assert project.setup("--tests").stdout == THERE


WITH_SYSTEMD = ("unshare", "--mount", "sh", "-c",
                'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$@"', "sh")


@pytest.mark.root
@pytest.mark.parametrize(("served", "ended"), [("active", False), ("no", True)])
def test_a_web_server_of_the_users_goes_on(served: str, ended: bool, project: Project) -> None:
    """On Debian 12 nginx-light is a few modules beside nginx, whose service may have been there before."""
    project.stand_in(apt_get="", systemctl='case "$1" in is-*) [ "$1" = "is-$SERVED" ] ;; esac')
    project.setup("--tests", prefix=WITH_SYSTEMD, MISSING="nginx-light", SERVED=served)
    assert ("systemctl disable --now nginx" in project.calls_made()) is ended


@pytest.mark.root
def test_a_package_that_cannot_be_installed_is_named(project: Project) -> None:
    """With the command and its log, or without root in one line."""
    project.stand_in(apt_get="echo E: no such package; exit 100")
    complaint = project.setup(status=1, MISSING="mininet").stderr
    assert "E: no such package\nsetup: failed with status 100: apt-get " in complaint
    assert "install mininet" in Path(complaint.rpartition("the whole log: ")[2].strip()).read_text()
    project.stand_in()
    refused = project.setup(status=2, MISSING="mininet", prefix=AS_ORDINARY)
    assert_refused(refused)
    assert "root is needed to install mininet; run: sudo " in refused.stderr
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
        project.stand_in(**{browser: ""})
    # The package missing stops the run early; the mount ends with the namespace.
    mounted = f'mount --bind {project.root}/os-release /etc/os-release && exec "$0" "$@"'
    answer = project.setup(status=1, MISSING="mininet", prefix=("unshare", "--mount", "sh", "-c", mounted))
    assert ("no google-chrome" in answer.stderr) == complains
    assert ("chromium" in project.calls.read_text()) == asks_for_chromium


def test_pins_are_exact_and_named_once() -> None:
    """A version that is not pinned would change under a user's hands."""
    lines = [line.partition("#")[0].partition(";")[0].strip() for file in ROOT.glob("requirements/[brst]*.txt")
             for line in file.read_text().splitlines()]
    pins = [line.lower().replace("_", "-").partition("==") for line in lines if line]
    assert pins
    assert [pin for pin in pins if not pin[2]] == []
    assert len(pins) == len({name for name, _, _ in pins})
