"""The smallest whole experiment, as its user types it."""

import os
import re

import pytest

from experiments.one_page import saved
from harness.bootstrap import ROOT
from tests.support.ordinary import SUDO
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import ran

PROGRAM = ROOT / "experiments" / "one_page.py"
RTT_MS = 200


def test_what_was_saved_in_words() -> None:
    assert saved(201.4, 100) == "201 ms, 2.01 round trips"
    assert saved(-0.6, 0) == "-1 ms", "--rtt 0"


@pytest.mark.root
@pytest.mark.chrome
def test_each_connection_of_a_return_visit_carries_its_request() -> None:
    """What that saves of a page with so many handshakes is measured in tests/programs/test_savings.py.

    sudo keeps a umask that is stricter than its own: the servers could not read the page.
    """
    done = ran(*LATE_PYTHON, PROGRAM, "--rtt", RTT_MS, "--runs", "1", status=0, env={**os.environ, **SUDO},
               umask=0o077)
    loads = re.findall(r"^TFO (\d), run (\d): \d+ ms, (\d) of (\d) connections", done.stdout, re.MULTILINE)
    off = [(int(in_syn), int(all_of_it)) for tfo, _, in_syn, all_of_it in loads if tfo == "0"]
    warm = [(int(in_syn), int(all_of_it)) for tfo, run, in_syn, all_of_it in loads if tfo == "1" and run != "0"]
    assert off == [(0, 4)] * 2
    assert warm == [(4, 4)]
    assert re.search(r"saved -?\d+ ms, -?[\d.]+ round trips \(medians of 1 loads\)", done.stdout), done.stdout
