"""client.py and server.py, the smallest TFO pair, between two network namespaces of their own."""

import re
import sys

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import set_fastopen
from tests.support.namespaces import joined_namespaces
from tests.support.ran import assert_refused, ran
from tests.support.started import started

PAIR = ROOT / "tfo-test"
SERVER_ADDRESS = "10.9.0.2"
SAID = re.compile(r"^connection \d+.*: SYN data accepted: (yes|no), first byte after [\d.]+ ms$", re.MULTILINE)


@pytest.mark.root
def test_with_both_ends_willing_the_second_connection_sends_its_request_in_the_syn() -> None:
    """The client tells it, and the server, too."""
    words = "--address", SERVER_ADDRESS, "--connections", "3"
    with joined_namespaces() as (near, far):
        for value, later in ((0, "no"), (1, "no"), (2, "no"), (3, "yes")):
            set_fastopen([near, far], value)
            with started("nsenter", f"--net=/proc/{far}/ns/net", sys.executable, f"{PAIR}/server.py", *words,
                         says=f"listening on {SERVER_ADDRESS}:8000") as server:
                client = ran("nsenter", f"--net=/proc/{near}/ns/net", sys.executable, f"{PAIR}/client.py", *words,
                             status=0)
                said, _ = server.communicate()
            assert server.returncode == 0
            assert SAID.findall(client.stdout) == SAID.findall(said) == ["no", later, later], value


@pytest.mark.parametrize(("words", "status", "says"), [
    (["client.py", "--port", "1"], 1, "127.0.0.1:1: "),       # tcpmux: no machine of today has that server
    (["server.py", "--address", "192.0.2.1"], 2, "192.0.2.1"), (["server.py", "--port", "99999"], 2, "99999")])
def test_what_cannot_be_done_is_said_in_one_line(words: list[str], status: int, says: str) -> None:
    answer = ran(sys.executable, PAIR / words[0], *words[1:])
    assert_refused(answer, status)
    assert says in answer.stderr
