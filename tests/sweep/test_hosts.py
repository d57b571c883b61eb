"""Workers on other machines, with stand-ins for scp and ssh: an ssh that lives until its standard input ends."""

from argparse import Namespace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.sweep import hosts
from harness.sweep.cluster import OwnScheduler
from harness.sweep.folder import SweepFolder
from harness.sweep.hosts import HostsCluster

OPTIONS = Namespace(dashboard=0, wait=1.0, patience=1.0, calibration=True)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostsCluster:
    for name, script in {"scp": 'case "$*" in *slow*) exec sleep 30;; *broken*) echo "no such folder"; exit 1;; esac',
                         "ssh": "exec cat"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(hosts, "COPY_S", 0.2)
    monkeypatch.setattr(OwnScheduler, "connect", lambda _: None)
    folder = SweepFolder(tmp_path, "x")
    folder.make()
    return HostsCluster(folder, tmp_path, ["lab1", "slow", "broken", "lab2"], "tfo-lab", OPTIONS)


def test_a_host_that_gets_no_certificates_keeps_no_other_from_working(cluster: HostsCluster,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    cluster.connect()
    workers = dict(cluster._workers)
    cluster.close()
    assert list(workers) == ["lab1", "slow", "broken", "lab2"]
    assert [worker.returncode for worker in workers.values()] == [0] * 4, "all ended with their input"
    assert capsys.readouterr().out == ("slow: the certificates were not copied within 0.2 s\n"
                                       "broken: no such folder\n")


def test_without_ssh_it_is_said_what_is_missing(cluster: HostsCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="needs ssh and scp"):
        cluster.connect()
