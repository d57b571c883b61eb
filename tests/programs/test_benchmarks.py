"""Benchmarks that leave nothing stopped, measure each server, and know no cost without undisturbed loads."""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import disturbed, stall
from experiments.nginx import nginx_program
from harness.bootstrap import ROOT
from harness.network.star import Host
from tests.support.forked import typed
from tests.support.made_record import made_record

BENCHMARKS = ROOT / "benchmarks"


def test_a_stall_that_is_broken_off_lets_its_part_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle left all stopped: of "everything" the experiment, which nothing but SIGKILL ended then."""
    with subprocess.Popen(["sleep", "60"]) as part:
        def sleep(seconds: float) -> None:
            if seconds:
                os.waitid(os.P_PID, part.pid, os.WSTOPPED)
                raise KeyboardInterrupt

        monkeypatch.setattr(stall, "wait_for_packet", lambda _: None)
        monkeypatch.setattr("benchmarks.stall.time.sleep", sleep)
        try:
            with pytest.raises(KeyboardInterrupt):
                stall.make_stall("everything", part.pid, Host("user", "", "", "lo", os.getpid()), "", after_ms=0,
                                 stall_ms=1000)
            assert Path(f"/proc/{part.pid}/stat").read_text().split()[2] != "T"
        finally:
            part.kill()


def test_each_server_is_measured_in_each_protocol_that_it_speaks() -> None:
    done = typed(BENCHMARKS / "server.py", "--rounds", "1", "--modules", "3")
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    assert {(server, spoken) for server, spoken, *_ in rows} >= {
        ("replay", "HTTP/1.1"), ("replay", "HTTP/2"), ("replay --http 1.0", "HTTP/1.0"),
        *([("nginx", "HTTP/1.0"), ("nginx", "HTTP/2")] if nginx_program() else [])}
    assert all(float(figure) > 0 for _, _, *figures in rows for figure in figures)


def test_without_undisturbed_loads_no_stall_has_a_known_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """Its whole page load time stood there: 1100 ms of a stall of 100 ms."""
    assert disturbed.report([disturbed.Disturbed("renderer", made_record(plt_ms=1100.0), [])], 100.0) == 1
    assert "1100" not in capsys.readouterr().out
