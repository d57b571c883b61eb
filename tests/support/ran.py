"""A command run to its end, with what it said."""

import subprocess
from typing import Any


def ran(*command: object, status: int | None = None, **more: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command and return it with its output as text; fail unless it ends with `status` (None: with any)."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **more)
    assert status in (None, done.returncode), f"status {done.returncode}: {done.stdout}{done.stderr}"
    return done


def assert_refused(done: "subprocess.CompletedProcess[str]", status: int = 2) -> None:
    """Fail unless a command ended with `status`, and one line that says why."""
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stdout + done.stderr
