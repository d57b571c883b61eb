"""A network namespace of one's own, entered without root; and the lock that anybody can take."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ordinary import AS_ORDINARY, ORDINARY
from tests.support.ran import ran

PROGRAM = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from harness.system.fastopen import set_fastopen
from harness.system.fastopen import enter_own_network
why = enter_own_network()
print("why", why)
if not why:
    set_fastopen([os.getpid()], 3)
    set_fastopen([os.getpid()], 0)
    print("uid", os.geteuid())
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout.split()
    print(links[1], links[links.index("mtu") + 1])
    status = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, text=True).stdout.split()
    print("children", int(status[1], 16))
"""


def entered(script: Path, *before: str, **environment: str) -> str:
    done = ran(*before, sys.executable, script, ROOT, status=0, env={**os.environ, **environment})
    return done.stdout


@pytest.fixture
def script(open_to_all: Path) -> Path:
    path = open_to_all / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.root
def test_an_ordinary_user_switches_tfo_there_and_its_programs_have_no_rights(script: Path) -> None:
    allowed = subprocess.run([*AS_ORDINARY, "unshare", "--user", "--net", "true"], capture_output=True, check=False)
    if allowed.returncode != 0:
        pytest.skip("this system gives ordinary users no namespace of their own")
    assert entered(script, *AS_ORDINARY).splitlines() == [
        "why ", f"uid {ORDINARY.uid}", "lo: 1500", "children 0"]


def test_where_none_can_be_had_it_says_why(script: Path, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    said = entered(script, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert said == "why unshare: unshare failed: Operation not permitted\n"
