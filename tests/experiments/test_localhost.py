"""experiments/localhost.py without root: servers on loopback hold their answers back, and the table is that of run.sh.

One experiment with real TFO, in a network namespace of its own, and one where it is simulated.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from experiments import localhost
from harness.bootstrap import ROOT
from tests.support.finished import Finished
from tests.support.ordinary import AS_ORDINARY, ORDINARY
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import ran
from tests.support.recording import CHAIN, chain_of_scripts

PROGRAM = ROOT / "experiments" / "localhost.py"
RTT_MS = 100
TOLERANCE_RTTS = 0.5
"""Loads differ by some 20 ms of the processor's, beside others by more; a whole handshake is what is counted."""
REAL = pytest.mark.skipif(
    os.geteuid() == 0 and subprocess.run([*AS_ORDINARY, "unshare", "--user", "--net", "true"], capture_output=True,
                                         check=False).returncode != 0,
    reason="this system gives ordinary users no namespace of their own")


def run(base: Path, *options: str) -> Finished:
    chain_of_scripts(base, *CHAIN)
    for path in (base, *base.rglob("*")):
        os.chown(path, ORDINARY.uid, ORDINARY.gid)
    done = ran(*AS_ORDINARY, *LATE_PYTHON, PROGRAM, "--dir", base, "--name", "small", "--delays", RTT_MS // 2,
               "--quick", "--quiet", "0.2", "--patience", "0", *options, status=0)
    return Finished(base / "localhost", done.stdout)


def test_root_puts_back_what_a_killed_run_left_before_it_has_a_network_of_its_own(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """There it wrote the old net.ipv4.tcp_fastopen into its own network, and said that the machine had it again."""
    steps = []

    @contextmanager
    def lock() -> Iterator[None]:
        steps.append("lock")
        yield

    def own_network() -> str:
        steps.append("network")
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["localhost.py"])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(localhost, "only_experiment", lock, raising=False)
    monkeypatch.setattr(localhost, "enter_own_network", own_network)
    with pytest.raises(KeyboardInterrupt):
        localhost.main()
    assert steps == ["lock", "network"]


@REAL
@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.timing
def test_tfo_is_real_and_saves_one_round_trip_for_each_connection(open_to_all: Path) -> None:
    """The theory for a chain of connections, each begun by the answer before, within one experiment."""
    real = run(open_to_all)
    off, on = real.load(0), real.load(1)
    assert (off.syn_data_connections, on.syn_data_connections) == (0, len(CHAIN))
    assert on.counters["loopback"]["TCPFastOpenPassive"] == len(CHAIN)
    assert {record.network for record in (off, on)} == {"loopback"}
    assert real.saved_ms() / RTT_MS == pytest.approx(len(CHAIN), abs=TOLERANCE_RTTS)
    assert (on.plt_ms or 0.0) / RTT_MS >= len(CHAIN), "a round trip for each request"
    assert re.search(rf"^\t{RTT_MS}\t\d\.\d+\t\d\.\d+\t\d+\.\d+%$", real.said, re.MULTILINE)
    assert "Simulated" not in real.said


@pytest.mark.root
@pytest.mark.chrome
def test_where_tfo_cannot_be_real_it_is_simulated_and_said_to_be(open_to_all: Path) -> None:
    found = run(open_to_all, "--shared-network")
    assert found.results.transports == [0]
    assert found.load(0).counters == {}, "those of the machine tell of others, too"
    table, simulated = found.said.split("Simulated, not measured")
    assert re.search(rf"^\t{RTT_MS}\t\d\.\d+\t-\t-$", table, re.MULTILINE), "no number in the place of a measured one"
    assert "--shared-network was given" in table
    [row] = re.findall(rf"^\t{RTT_MS}\t(\S+)\t{len(CHAIN)}\t(\S+)\t-\t-$", simulated, re.MULTILINE)
    saved_ms = (float(row[0]) - float(row[1])) * 1000
    assert saved_ms / RTT_MS == pytest.approx(len(CHAIN), abs=0.1)
    settings = json.loads((found.client / f"experiment-{RTT_MS // 2}.json").read_text())
    assert (settings["network"], settings["tfo"], settings["bw_net_mbit"]) == ("loopback", "0", None)
