"""What scripts/setup.sh installs and when, with stand-ins for the distribution's tools that write down their calls."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
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

    def setup(self, *arguments: str, path: str | None = None, prefix: tuple[str, ...] = (), user: int | None = None,
              status: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run setup.sh with the stand-ins first in PATH."""
        environment = {"PATH": path or f"{self.tools}:/usr/bin:/bin", "TMPDIR": str(self.root), **environment}
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
    environment.setup(status=0, MISSING="ethtool")
    update, first, install, second = environment.calls_made()
    assert update.endswith("update")
    assert install.endswith("--no-install-recommends install ethtool")
    assert all("/usr/sbin" in path.split(":") for path in (first, second))


def test_a_shim_whose_source_is_of_the_future_is_compiled_once(environment: Project) -> None:
    """Its clock was set back since, or it came on a stick that keeps local time: tfo.py asked for set-up for hours."""
    directory = environment.root / "tfo-test"
    directory.mkdir()
    source, shim = (directory / f"chrome_shim.{ending}" for ending in ("c", "so"))
    source.write_text("int shim;\n")
    os.utime(source, (4e9, 4e9))
    assert "compiling tfo-test/chrome_shim.so" in environment.setup().stdout
    assert environment.setup().stdout == "setup: everything is there\n"
    assert shim.stat().st_mtime >= source.stat().st_mtime, "as tfo.py wants it (harness.browser.program.require_shim)"
    os.utime(source, (5e9, 5e9))
    assert "compiling tfo-test/chrome_shim.so" in environment.setup().stdout


def test_what_the_caller_has_alone_does_not_count(project: Project) -> None:
    """What lies in ~/.local is there for its owner, and not for tfo.py, which is root."""
    metadata = {"METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
                "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "RECORD": ""}
    with zipfile.ZipFile(project.root / "small-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small.py", "")
        for name, text in metadata.items():
            wheel.writestr(f"small-1.0.dist-info/{name}", text)
    own = project.root / "home" / ".local"
    shutil.unpack_archive(project.root / "small-1.0-py3-none-any.whl", format="zip", extract_dir=(
        own / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"))
    (project.root / "requirements/run.txt").write_text("small==1.0\n")
    project.setup(status=0, HOME=str(own.parent), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(project.root))
    ran(project.root / ".venv" / "bin" / "python", "-c", "import small", status=0, env={"HOME": "/"})


@pytest.mark.root
def test_modules_are_compiled_where_root_may_not_write(environment: Project) -> None:
    """A home on NFS takes root for nobody (root_squash), and run.sh sets up what is missing as root."""
    module = environment.root / "harness" / "module.py"
    module.parent.mkdir()
    module.write_text("pass\n")
    for path in (module, module.parent):
        os.chown(path, ALICE.uid, ALICE.gid)
    capabilities = "-dac_override,-dac_read_search,-fowner,-chown"
    answer = environment.setup(SUDO_UID=str(ALICE.uid), SUDO_GID=str(ALICE.gid), prefix=(
        "setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities, "--"))
    assert (answer.returncode, answer.stdout) == (0, "setup: everything is there\n"), answer.stderr
    [cache] = (module.parent / "__pycache__").iterdir()
    assert cache.stat().st_uid == ALICE.uid


def test_a_cdpath_leads_no_script_elsewhere(project: Project) -> None:
    """With one, `cd scripts/..` prints where it went, or goes to another project's scripts."""
    (project.root / "elsewhere" / "scripts").mkdir(parents=True)
    for script in ("submission.sh", "check.sh"):
        shutil.copy(ROOT / "scripts" / script, project.root / "scripts")
        done = ran("bash", f"scripts/{script}", *(["gtlogin"] if script == "submission.sh" else []), cwd=project.root,
                   env={"PATH": "/usr/bin:/bin", "CDPATH": f"{project.root}/elsewhere:."})
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "elsewhere" not in done.stderr


def test_moved_clone_gets_a_new_environment(environment: Project) -> None:
    """An environment does not survive being moved: the programs in its bin/ name the old place."""
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        shutil.copytree(environment.root, name, symlinks=True, dirs_exist_ok=True)
        moved = Project(Path(name), environment.tools, environment.calls)
        assert "making the Python environment" in moved.setup().stdout
        assert (moved.root / ".venv" / "bin" / "pip").read_text().startswith(f"#!{name}/")
        assert moved.setup().stdout == "setup: everything is there\n"


@pytest.mark.parametrize(("file", "option"), [("run", ()), ("test", ("--tests",)), ("sweep", ("--sweep",))])
def test_other_requirements_are_installed_again_where_they_are_wanted(file: str, option: tuple[str, ...],
                                                                      environment: Project) -> None:
    environment.setup("--tests", status=0)      # which brings what the sweep alone needs, too
    (environment.root / f"requirements/{file}.txt").write_text("# something else\n")
    assert not option or environment.setup().stdout == "setup: everything is there\n"
    assert f"requirements/{file}.txt" in environment.setup(*option).stdout
    assert environment.setup(*option).stdout == "setup: everything is there\n"


WITH_SYSTEMD = ("unshare", "--mount", "sh", "-c",
                'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$@"', "sh")


@pytest.mark.root
@pytest.mark.parametrize(("served", "ended"), [("active", False), ("enabled", False), ("no", True)])
def test_a_web_server_of_the_users_goes_on(served: str, ended: bool, environment: Project) -> None:
    """On Debian 12 nginx-light is a few modules beside nginx, whose service may have been there before."""
    environment.stand_in("apt-get", "exit 0")
    environment.stand_in("systemctl", 'case "$1" in is-*) [ "$1" = "is-$SERVED" ] ;; esac')
    environment.setup("--tests", status=0, prefix=WITH_SYSTEMD, MISSING="nginx-light", SERVED=served)
    assert ("systemctl disable --now nginx" in environment.calls_made()) is ended
    environment.calls.unlink()


@pytest.mark.root
def test_no_web_server_stays_when_another_package_fails(environment: Project) -> None:
    """nginx was there by then, and the next set-up, for which it is not missing, let it run for ever."""
    environment.stand_in("apt-get", 'case "$*" in *install*) exit 100;; esac')
    environment.stand_in("systemctl", 'case "$1" in is-*) exit 1 ;; esac')
    environment.setup("--tests", status=1, prefix=WITH_SYSTEMD, MISSING="nginx-light")
    assert "systemctl disable --now nginx" in environment.calls_made()
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
def test_an_environment_that_is_not_finished_is_not_roots(project: Project) -> None:
    """Without the Internet pip fails: the user could neither remove what was there nor go on without sudo."""
    (project.root / "requirements/run.txt").write_text("nowhere-to-be-had==1.0\n")
    answer = project.setup(status=1, SUDO_UID=str(ALICE.uid), SUDO_GID=str(ALICE.gid), PIP_NO_INDEX="1")
    assert "the whole log: " in answer.stderr
    assert {path.lstat().st_uid for path in (project.root / ".venv").rglob("*")} == {ALICE.uid}


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
    ('ID="ubuntu"\nID_LIKE=debian\nX=aarch64', "", True, False),
    ("ID=ubuntu\nID_LIKE=debian", "google-chrome", False, False),
    ('ID=pop\nID_LIKE="ubuntu debian"', "google-chrome-stable", False, False),
])
def test_browser_by_distribution(project: Project, release: str, browser: str, complains: bool,
                                 asks_for_chromium: bool) -> None:
    processor = "aarch64" if "aarch64" in release else "x86_64"
    project.stand_in("uname", f"echo {processor}")
    (project.root / "os-release").write_text(f"NAME=x\nVERSION_ID=1\n{release}\n")
    if browser:
        project.stand_in(browser, "")
    # The package missing stops the run early; the mount ends with the namespace.
    mounted = f'mount --bind {project.root}/os-release /etc/os-release && exec "$0" "$@"'
    answer = project.setup(status=1, MISSING="mininet", prefix=("unshare", "--mount", "sh", "-c", mounted))
    assert ("no google-chrome" in answer.stderr) == complains
    assert ("_amd64.deb" in answer.stderr) == (complains and processor == "x86_64")
    assert ("chromium" in project.calls.read_text()) == asks_for_chromium


def test_other_distribution_is_one_line(project: Project) -> None:
    for tool in ("bash", "dirname", "sed", "tr"):
        (project.tools / tool).symlink_to(shutil.which(tool) or tool)
    for tool in ("apt-get", "dpkg-query"):
        (project.tools / tool).unlink()
    answer = project.setup(status=2, path=str(project.tools))
    assert answer.stderr.startswith("setup: only Debian and Ubuntu are supported")
    assert "mininet" in answer.stderr
    assert re.search(r"; not there yet: [^;]*\bgcc\b[^;]*$", answer.stderr)
    assert answer.stderr.count("\n") == 1


def test_unknown_argument_is_bad_use(project: Project) -> None:
    answer = project.setup("--test", status=2)
    assert "unknown argument: --test" in answer.stderr


@pytest.mark.root
def test_sigterm_ends_the_step_at_hand(project: Project) -> None:
    project.stand_in("apt-get", 'case "$*" in *install*) exec sleep 60;; esac')
    environment = {"PATH": f"{project.tools}:/usr/bin:/bin", "TMPDIR": str(project.root), "MISSING": "gcc"}
    with subprocess.Popen([project.root / "scripts" / "setup.sh"], stdout=subprocess.PIPE, text=True,
                          env=environment) as process:
        assert process.stdout
        while "installing gcc" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not list(project.root.glob("tfo-lab-setup-*"))


def test_pins_are_exact_and_named_once() -> None:
    """A version that is not pinned would change under a user's hands."""
    names = []
    for file in ("requirements/run.txt", "requirements/sweep.txt", "requirements/test.txt", "requirements/build.txt"):
        for line in (ROOT / file).read_text().splitlines():
            requirement = line.partition("#")[0].partition(";")[0].strip()
            if requirement:
                name, pinned, version = requirement.partition("==")
                assert pinned, f"{file}: {requirement} has no exact version"
                assert version, f"{file}: {requirement} has no exact version"
                names.append(name.lower().replace("_", "-"))
    assert len(names) == len(set(names))
