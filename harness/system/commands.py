"""Run a command and, when it fails, say what was attempted."""

import subprocess
from collections.abc import Sequence

from harness.errors import ExperimentError

TIMEOUT_S = 20.0


def run(command: Sequence[str], what: str, given: str | None = None) -> str:
    """Run `command` to its end and return what it printed.

    `what` names the purpose and `given` is its standard input. Raises ExperimentError with the purpose, the command,
    its exit status and its error output when it fails or takes over 20 s.
    """
    line = " ".join(command)
    try:
        # close_fds: ours are all close-on-exec (PEP 446), and closing thousands of them one by one takes long: a star
        # of 1000 hosts has 2000 terminals open.
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                              close_fds=False)
    except FileNotFoundError:
        raise ExperimentError(f"{what}: {command[0]} is not installed; run scripts/setup.sh") from None
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"{what}: `{line}` did not end in {TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise ExperimentError(f"{what}: `{line}` exited with {done.returncode}: {said}")
    return done.stdout
