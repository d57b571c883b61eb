"""What is noted of the machine and of this program."""

import os
import tempfile
from pathlib import Path

import pytest

from harness.system.environment import git_state
from tests.support.ran import ran

NOBODY = 65534


@pytest.mark.root
def test_a_program_that_a_checkout_names_does_not_run_as_root() -> None:
    with tempfile.TemporaryDirectory() as name:
        checkout, monitor = Path(name) / "checkout", Path(name) / "checkout" / "monitor"
        Path(name).chmod(0o755)
        checkout.mkdir()
        monitor.write_text(f"#!/bin/sh\nid -u >{checkout}/was\n")
        monitor.chmod(0o755)
        git = ["git", "-C", str(checkout), "-c", "user.name=me", "-c", "user.email=me@a.test"]
        for words in (["init", "--quiet"], ["add", "monitor"], ["commit", "--quiet", "--message", "one"],
                      ["config", "core.fsmonitor", str(monitor)]):
            ran(*git, *words, status=0)
        for path in (checkout, *checkout.rglob("*")):
            os.lchown(path, NOBODY, NOBODY)
        assert len(git_state(checkout)) >= 7
        assert (checkout / "was").read_text() == f"{NOBODY}\n"
