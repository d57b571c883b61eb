"""scripts/uml.sh: what a command does in there, what is left of it out here, and how it says that it cannot."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.project_copy import LATE_FOLDER
from tests.support.ran import assert_refused, ran
from tests.support.started import started

UML, KERNEL = ROOT / "scripts" / "uml.sh", Path("/usr/bin/linux.uml")
# Root, since then conftest.py looks for what is left behind; the script itself works without.
pytestmark = [pytest.mark.root, pytest.mark.skipif(not KERNEL.exists(), reason="there is no user-mode-linux")]


SCRIPT = f"""echo "$PWD"; echo "to stderr" >&2; uname -r >"$1/kernel"; printf %s "$SAID" >"$1/said"
echo gone >"$2" && cat "$2"; cd .. && scripts/make_pages.py --name tiny --directory /tmp && {{
PYTHONPATH=$PWD/{LATE_FOLDER} .venv/bin/python tfo.py --dir /tmp --name tiny --delaynet 100 --patience 0 \\
    --on-user 'curl -s --connect-to ::10.0.0.3:8000 http://www.tiny.test/' &&
.venv/bin/python -m pytest --noconftest -p no:cacheprovider -k changed_in_place tests/network/test_network.py
}} 2>"$1/complaints" && exit 7"""
"""That kernel's clock may be late beside other tests: an RTT of 206 ms for 200 was seen."""


def run_uml(*arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return ran(UML, *arguments, cwd=ROOT / "tests", env={**os.environ, **environment})


def test_a_command_runs_in_a_kernel_of_its_own(tmp_path: Path) -> None:
    """The whole program does: it uses netem, which that kernel has, and changes it in place."""
    kept, lost = tmp_path / "kept here", ROOT / "test_uml.lost"
    done = run_uml("--out", kept, "sh", "-c", SCRIPT, "sh", kept, lost, SAID="two words\nand 'lines'")
    print(done)
    assert (done.returncode, done.stderr) == (7, "to stderr\n"), (kept / "complaints").read_text()
    assert done.stdout.splitlines()[:2] == [str(ROOT / "tests"), "gone"]
    assert (kept / "kernel").read_text().strip() != os.uname().release
    assert (kept / "said").read_text() == "two words\nand 'lines'"
    assert not lost.exists()
    for said in (" 1 passed", "ms wanted (netem)", "<title>Synthetic page: http://www.tiny.test/</title>"):
        assert said in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_of_an_interrupted_command(number: signal.Signals) -> None:
    """Not even of the kernel's own processes; SIGKILL leaves the directory of the console's log, which we remove."""
    command = "env", "--default-signal=INT", str(UML), "sh", "-c", "echo up; sleep 3600 & sleep 3600"
    with started(*command, says="up") as process:
        process.send_signal(number)
        process.wait()
    assert process.returncode == -number
    scratch = list(Path(os.environ["TMPDIR"]).glob("tfo-lab-uml-*"))
    assert len(scratch) == (number == signal.SIGKILL)
    for directory in scratch:
        ran("rm", "-r", directory, status=0)


@pytest.mark.parametrize(("arguments", "problem"), [
    ([], "command"), (["--odd", "true"], "--odd"), (["--memory", "1G", "true"], "--memory: '1G'")])
def test_bad_use(arguments: list[str], problem: str) -> None:
    done = run_uml(*arguments)
    assert_refused(done)
    assert problem in done.stderr
