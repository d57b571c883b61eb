"""tfo.py --on-user: a program of the student's own on `user`, while the servers replay."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project_copy import TFO
from tests.support.ran import assert_refused, ran
from tests.support.recording import one_document

pytestmark = pytest.mark.root


def tfo(base: Path, command: str) -> "subprocess.CompletedProcess[str]":
    return ran(*TFO, "--dir", base, "--name", "small", "--delaynet", "0", "--on-user", command, cwd=base)


def test_a_program_reaches_the_servers_no_page_is_loaded_and_its_exit_status_is_passed_on(tmp_path: Path) -> None:
    script = ("import sys, urllib.request as u; host, ip, port, *_ = open('hack_dns').read().split(); "
              "ask = u.Request(f'http://{ip}:{port}/', headers={'Host': host}); "
              "print(u.urlopen(ask).read().decode()); sys.exit(7)")
    base = one_document(tmp_path)
    done = tfo(base, f'{sys.executable} -c "{script}"')
    assert done.returncode == 7, done.stderr
    assert "One small document." in done.stdout
    assert not (base / "client").exists()


@pytest.mark.parametrize("command", ["no-such-program", "'unclosed"])
def test_what_cannot_be_started_is_said(tmp_path: Path, command: str) -> None:
    done = tfo(one_document(tmp_path), command)
    assert_refused(done)
    assert done.stderr.startswith("tfo.py: --on-user:")
