"""tfo.py --on-user: a program of the student's own on `user`, while the servers replay."""

import os
import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.network.programs import run_on_user
from harness.network.star import Host
from harness.system.privileges import User
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.recording import one_document

pytestmark = pytest.mark.root


def test_a_program_reaches_the_servers_no_page_is_loaded_and_its_exit_status_is_passed_on(tmp_path: Path) -> None:
    script = ("import sys, urllib.request as u; host, ip, port, *_ = open('hack_dns').read().split(); "
              "ask = u.Request(f'http://{ip}:{port}/', headers={'Host': host}); "
              "print(u.urlopen(ask).read().decode()); sys.exit(7)")
    base = one_document(tmp_path)
    done = ran(*TFO, "--dir", base, "--name", "small", "--delaynet", "0", "--on-user",
               f'{sys.executable} -c "{script}"', cwd=base)
    assert done.returncode == 7, done.stderr
    assert "One small document." in done.stdout
    assert not (base / "client").exists()


@pytest.mark.parametrize("command", ["no-such-program", "'unclosed", ""])
def test_what_cannot_be_started_is_said(command: str) -> None:
    with pytest.raises(InputError, match=r"^tfo\.py: --on-user: "):
        run_on_user(Host("user", "", "", "lo", os.getpid()), command, User("nobody", 65534, 65534))
