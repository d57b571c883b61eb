"""What is special of a laboratory on loopback: who does TFO, what its settings say, and which load is late."""

from pathlib import Path

import pytest

from harness.analysis.explanation import Step
from harness.files.load_parts import LateAnswer
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure.folders import set_all_aside
from harness.measure.loopback import FastOpen, fastopen_here, of_loopback
from harness.measure.timekeeping import held_too_long
from harness.network.rtt import loopback_addresses, loopback_star

START_S = 1000.0


@pytest.mark.parametrize(("why", "value", "by"), [
    ("", "0", FastOpen.OWN), ("refused", "3", FastOpen.MACHINE), ("refused", "1", FastOpen.SIMULATED),
    ("refused", "2", FastOpen.SIMULATED), ("refused", "1027", FastOpen.MACHINE)])
def test_who_does_tfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, value: str, by: FastOpen) -> None:
    sysctl = tmp_path / "tcp_fastopen"
    sysctl.write_text(f"{value}\n")
    monkeypatch.setattr("harness.system.fastopen.SYSCTL", sysctl)
    found, because = fastopen_here(why)
    assert found is by
    assert why in because
    assert found.is_real == (by is not FastOpen.SIMULATED)
    assert (f"tcp_fastopen is {value}" in because) == (by is FastOpen.SIMULATED)


def test_its_settings_claim_no_links() -> None:
    settings = of_loopback({"bw_net_mbit": 4.0, "rtt_ms": 20, "delay_by": "netem"}, FastOpen.SIMULATED, "so")
    assert settings["bw_net_mbit"] is settings["bw_home_mbit"] is None
    assert (settings["network"], settings["delay_by"], settings["rtt_ms"]) == ("loopback", "the servers", 20)
    assert "simulated" in settings["fastopen_by"]


def test_each_host_has_an_address_of_its_own_and_always_the_same() -> None:
    names = [f"host{number}.test" for number in range(600)]
    addresses = loopback_addresses(names)
    assert addresses["host0.test"] == "127.84.0.1"
    assert addresses["host599.test"] == "127.84.2.88"
    assert len(set(addresses.values())) == len(names)
    star = loopback_star(names[:2])
    assert [host.address for host in star.servers.values()] == ["127.84.0.1", "127.84.0.2"]
    assert len(set(star.pids)) == 1


def answered(host: str, due_ms: float, own_ms: float | None) -> ServerRequest:
    return ServerRequest(host, START_S + due_ms / 1000, 1, 1, "GET", "/", 200, 1, FoundAs.PLAIN, False, own_ms=own_ms)


def test_what_a_server_lets_go_after_it_was_due_is_late() -> None:
    path = [Step("wait", 0, 130, "http://a.test/"), Step("cpu", 130, 400, "http://a.test/")]
    requests = [answered("a.test", 100, 30.0), answered("b.test", 100, 40.0), answered("a.test", 300, 5.0),
                answered("a.test", 900, 70.0), answered("c.test", 10, None)]
    late = held_too_long(requests, START_S, 500, path)
    assert [(answer.host, round(answer.late_ms), answer.critical) for answer in late] == [
        ("b.test", 40, False), ("a.test", 30, True), ("a.test", 5, False)], "that at 900 ms is after the load event"
    assert isinstance(late[0], LateAnswer)


def test_results_of_every_delay_are_moved_aside(tmp_path: Path) -> None:
    assert set_all_aside(tmp_path) is None
    for name in ("client", "serverlogs", "output-figures"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.png").touch()
    kept = set_all_aside(tmp_path)
    assert kept is not None
    assert {path.name for path in kept.iterdir()} == {"client", "serverlogs", "output-figures"}
    assert {path.name for path in tmp_path.iterdir()} == {kept.name, "output-figures"}
