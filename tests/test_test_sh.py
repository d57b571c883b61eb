"""scripts/test.sh: what runs beside what, whose status counts, and what a signal ends."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.bootstrap import ROOT

PYTEST = """#!/bin/sh
# Stands for .venv/bin/python -m pytest: says what it was asked, and does what the file named after the half says.
shift 2
echo "pytest $*"
half=$(echo "$*" | tr -dc a-z)
if [ -e "$half-waits" ]; then
    trap 'kill $!; sleep 0.2; echo "cleaned up $half"; touch "$half-cleaned"; exit 2' INT
    touch "$half-started"
    sleep 60 & wait $!
fi
exit "$(cat "$half-status" 2>/dev/null || echo 0)"
"""
NEED_ROOT, OTHERS = "mrootortiming", "mnotrootortiming"
pytestmark = pytest.mark.root


@dataclass(frozen=True)
class Project:
    """A project that is nothing but test.sh, with stand-ins for all that it starts."""

    root: Path

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start test.sh, as from a terminal of its own."""
        return subprocess.Popen([self.root / "scripts" / "test.sh", *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd="/",
                                env={**os.environ, "TMPDIR": str(self.root)})

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """Run test.sh; return its exit status and what it says after the checks."""
        process = self.start(*arguments)
        said, _ = process.communicate(timeout=20)
        return process.returncode, said.splitlines()[1:]

    def left(self) -> list[str]:
        """Return the temporary files that are left."""
        return [path.name for path in self.root.glob("tfo-lab-*")]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    scripts = tmp_path / "scripts"
    for name in ("setup.sh", "check.sh"):
        write_script(scripts / name, "#!/bin/sh\n")
    write_script(tmp_path / ".venv" / "bin" / "python", PYTEST)
    write_script(scripts / "test.sh", (ROOT / "scripts" / "test.sh").read_text())
    return Project(tmp_path)


def test_two_halves_without_arguments_and_one_with_them(project: Project) -> None:
    meanwhile = "test: beside these, the others:"
    assert project.run() == (0, ["pytest -m root or timing", meanwhile, "pytest -m not (root or timing)"])
    assert project.run("-k", "a table") == (0, ["pytest -k a table"])
    assert project.left() == []


@pytest.mark.parametrize(("half", "status"), [(NEED_ROOT, 1), (OTHERS, 3)])
def test_a_failure_of_either_half_counts(project: Project, half: str, status: int) -> None:
    (project.root / f"{half}-status").write_text(str(status))
    found, said = project.run()
    assert found == status
    assert ("further up, of those that need root" in said[-1]) == (half == NEED_ROOT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_both_halves_and_lets_them_clean_up(project: Project, number: signal.Signals) -> None:
    for half in (NEED_ROOT, OTHERS):
        (project.root / f"{half}-waits").touch()
    process = project.start()
    try:
        for half in (NEED_ROOT, OTHERS):
            wait_for((project.root / f"{half}-started").exists)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        said, _ = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == -number, said
    assert f"cleaned up {NEED_ROOT}" in said
    assert f"cleaned up {OTHERS}" in said
    assert project.left() == []


def test_killed_it_takes_both_with_it(project: Project) -> None:
    for half in (NEED_ROOT, OTHERS):
        (project.root / f"{half}-waits").touch()
    process = project.start()
    try:
        for half in (NEED_ROOT, OTHERS):
            wait_for((project.root / f"{half}-started").exists)
    finally:
        process.kill()
        process.communicate(timeout=10)
    for half in (NEED_ROOT, OTHERS):
        wait_for((project.root / f"{half}-cleaned").exists)


def write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def wait_for(condition: Callable[[], bool], limit_s: float = 10) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
