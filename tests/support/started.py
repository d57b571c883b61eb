"""A program that says when it is ready, for as long as a test needs it."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.bootstrap import ROOT


@contextmanager
def started(*command: str, says: str = "ready", cwd: Path = ROOT,
            environment: Mapping[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Run `command`, wait for its line `says`, and kill it at the end. All three of its streams are pipes."""
    with subprocess.Popen(command, cwd=cwd, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{says}\n"
            yield process
        finally:
            process.kill()
