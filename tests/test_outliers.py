"""docs/outliers.md: what it tells its reader to type works."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.project_copy import copy_project, typed

LESSON = (ROOT / "docs" / "outliers.md").read_text(encoding="utf-8")


@pytest.mark.root
def test_the_lessons_commands_are_right(tmp_path: Path) -> None:
    """All of them typed as they stand there, in a fresh copy; what measures only says that it is ready."""
    project = copy_project(tmp_path)
    commands = [line for block in re.findall(r"```sh\n(.*?)```", LESSON, re.DOTALL) for line in block.splitlines()]
    to_measure = [command for command in commands if "./run.sh" in command]
    assert len(to_measure) == 2
    for command in commands:
        if command.startswith("grep"):
            continue
        line = f"{command} --dry-run" if command in to_measure else command
        done = subprocess.run(typed(project, "bash", "-c", line.replace("sudo ", "")), capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
