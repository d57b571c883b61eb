"""Ctrl-C, SIGQUIT, SIGTERM and SIGHUP: clean up once, whole, and die of the very signal."""

import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran
from tests.support.started import started
from tests.support.waiting import wait_until

SCRIPT = """
import os, signal, sys, time
from contextlib import contextmanager
from pathlib import Path
from harness.system.signals import run_interruptible

@contextmanager
def laboratory(clean_up_s):
    try:
        yield
    finally:
        Path("cleaning").touch()
        time.sleep(clean_up_s)
        Path("cleaned").touch()

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)     # what its handler raises here, Python ignores

def work():
    with laboratory(float(sys.argv[1])):
        print("ready", flush=True)
        try:
            time.sleep(3600)
        except Exception:
            print("swallowed", flush=True)
    return 0

def drops():
    with laboratory(0):
        Dropped()
        time.sleep(3600)
    return 0

def dies_late():
    kill = os.kill
    os.kill = lambda *words: (time.sleep(0.2), kill(*words))
    return drops()

run_interruptible({"work": work, "drops": drops, "dies late": dies_late}[sys.argv[2]])
"""


def running(folder: Path, *prefix: str) -> AbstractContextManager["subprocess.Popen[str]"]:
    """Start the script. It ignores no signal, as it would where nohup runs the tests, unless `prefix` makes it."""
    return started("env", "--default-signal=HUP", *prefix, sys.executable, "-c", SCRIPT, "0.3", "work", cwd=folder,
                   environment={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_it_cleans_up_and_dies_of_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Two at once are one line: Ctrl-C on run.sh may send two."""
    at_once = [number] if number != signal.SIGINT else [signal.SIGSTOP, number, signal.SIGTERM, signal.SIGCONT]
    with running(tmp_path) as process:
        for each in at_once:
            process.send_signal(each)
        wait_until((tmp_path / "cleaning").exists)
        for further in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):      # do not break the clean-up
            process.send_signal(further)
        said, complaint = process.communicate()
    assert process.returncode == -number, "the first signal is the true one"
    assert (tmp_path / "cleaned").exists()
    assert said == "", "not even `except Exception` stands in its way"
    assert complaint == f"stopped by {number.name}; everything is cleaned up\n"


@pytest.mark.parametrize("what", ["drops", "dies late"])
def test_where_python_ignores_the_exception_it_is_raised_again(tmp_path: Path, what: str) -> None:
    """And never again, as soon as all is cleaned up: it would not die of the signal, but end with status 0."""
    done = ran(sys.executable, "-c", SCRIPT, "0", what, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == "stopped by SIGTERM; everything is cleaned up\n"
    assert (tmp_path / "cleaned").exists()


def test_nohup_is_respected(tmp_path: Path) -> None:
    with running(tmp_path, "nohup") as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)  # nothing happens, and there is nothing to wait for
        assert process.poll() is None
        assert not (tmp_path / "cleaning").exists()
