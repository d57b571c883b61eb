"""What connie's star makes of its measurements, and the faults it orders: no root, no network."""

import math
import random
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from connie.bench.own_server import running_server
from connie.lab import warm_up
from connie.lab.figure import draw, steps
from connie.lab.findings import CONNIE, PLAIN, finding_lines
from connie.lab.profiles import HOME, PROFILES, SERVER100, SERVER1000, WIFI, Profile
from connie.lab.results import FAILED, ORDER, Results, rank
from connie.lab.scenarios import FAULTS, LATE, LOSE_ALL, LOSE_FIRST_SYN, REFUSE, Endpoint, faults_of, make_scenario
from connie.lab.tables import cost_table, fast_open_table, format_ms, time_table
from connie.lab.task import ClientTask, Cost, Time, read_task, write_task
from connie.lab.timing import FLOOR, seconds_left
from harness.errors import ExperimentError


def made_times(fault: str, strategy: str, middle_ms: float, failed: int = 0) -> list[Time]:
    """60 connects around a time, the last of them failed."""
    draw_ms = random.Random(f"{fault} {strategy}")
    times_ms: list[float | None] = [middle_ms + draw_ms.uniform(-1, 1) for _ in range(60 - failed)]
    return [Time(fault=fault, strategy=strategy, connect_ms=time_ms,
                 first_byte_ms=None if time_ms is None else 2 * time_ms, took_ms=100, address="", error="")
            for time_ms in [*times_ms, *([None] * failed)]]


def made_results(connie_ms: float, plain_ms: float, dead_connie_ms: float) -> Results:
    times = made_times("none", FLOOR, connie_ms - 0.3) + made_times("dead", FLOOR, connie_ms - 0.3)
    for strategy in ORDER:
        times += made_times("none", strategy, connie_ms if strategy == CONNIE else plain_ms)
        times += made_times("dead", strategy, dead_connie_ms, failed=0 if strategy == CONNIE else 2)
    cost = Cost(fault="none", strategy=CONNIE, connects=10, sockets=80, sent_bytes=12345, aborted=70, fast_open=0,
                cpu_ms=12.0, peak_fds=9)
    return Results(times, [cost], made_times("none", "one address, TFO", 40),
                   [Cost(**{**cost, "strategy": "one address, TFO", "fast_open": 10})])


def test_failures_are_part_of_percentiles() -> None:
    assert rank([1, 2, 3, FAILED], 50) == 2
    assert rank([1, 2, 3, FAILED], 75) == 3
    assert format_ms(rank([1, 2, 3, FAILED], 95)) == "failed"
    assert rank([5], 99) == 5
    assert steps([3, FAILED, 1, 2]) == ([1, 2, 3], [0.25, 0.5, 0.75])


def test_tables() -> None:
    results = made_results(60, 80, 60)
    header, _, first, *_ = rows = time_table(results)
    assert header.split("|")[1].strip() == "fault"
    assert [cell.strip() for cell in first.split("|")[1:5]] == ["none", CONNIE, "60", "0"]
    assert len({len(row) for row in rows}) == 1
    dead = next(row for row in rows if row.startswith("| dead") and PLAIN in row)
    assert [cell.strip() for cell in dead.split("|")[3:5]] == ["60", "2"]
    assert dead.split("|")[7].strip() == "failed", "p99 of 60 with 2 failures"
    assert [cell.strip() for cell in cost_table(results)[2].split("|")[3:9]] == ["10", "8.00", "1234", "7.00", "1.20",
                                                                                 "9"]
    assert [cell.strip() for cell in fast_open_table(results)[2].split("|")[8:10]] == ["1.00", "8.00"]


@pytest.mark.parametrize(("profile", "plain_ms", "verdict"), [
    (HOME, 80, "2013's 5 to 50% reproduced"), (WIFI, 60, "2013's 5 to 50% NOT reproduced"),
    (HOME, 200, "2013's 5 to 50% not met, but shorter"), (SERVER100, 60.5, "2013's tie in data centres reproduced"),
    (SERVER1000, 80, "2013's tie in data centres NOT reproduced")])
def test_verdict_on_2013(profile: Profile, plain_ms: float, verdict: str) -> None:
    lines = finding_lines(profile, made_results(60, plain_ms, 60))
    line = next(line for line in lines if line.startswith("connect, all alive") and PLAIN in line)
    assert verdict in line
    assert f"{100 * (1 - 60 / plain_ms):+.0f}"[:2] in line


@pytest.mark.parametrize(("dead_ms", "verdict"), [(60, "within 10%"), (90, "beyond 10%")])
def test_verdict_on_a_dead_address(dead_ms: float, verdict: str) -> None:
    lines = finding_lines(HOME, made_results(60, 80, dead_ms))
    assert verdict in next(line for line in lines if line.startswith("p99 with one address dead"))
    close = next(line for line in lines if line.startswith("dead: median connect less"))
    assert ("beyond 1 ms" in close) == (dead_ms == 90)


def with_failures(fault: str, strategy: str, failed: int) -> Results:
    """One strategy's last connects of 60 with one fault failed; all others took 60 ms, or 80 those of the peers."""
    results = made_results(60, 80, 60)
    others = [time for time in results.times if (time["fault"], time["strategy"]) != (fault, strategy)]
    middle_ms = 60 if strategy == CONNIE else 80
    return replace(results, times=[*others, *made_times(fault, strategy, middle_ms, failed)])


def test_a_tenth_failed_is_beyond_any_limit_of_the_p99() -> None:
    lines = finding_lines(HOME, with_failures("dead", CONNIE, 6))
    line = next(line for line in lines if line.startswith("p99 with one address dead"))
    assert f"{CONNIE} failed" in line
    assert line.endswith("connie 95%: failed to failed: beyond 10%")


@pytest.mark.parametrize(("failed", "ending"), [(40, "95%: failed to failed: beyond 1 ms"),
                                                (31, "to failed: within or beyond 1 ms")])
def test_a_failed_median_is_not_within(failed: int, ending: str) -> None:
    lines = finding_lines(HOME, with_failures("dead", CONNIE, failed))
    line = next(line for line in lines if line.startswith("dead: median connect less"))
    assert f"{CONNIE} failed" in line
    assert line.endswith(ending)


@pytest.mark.parametrize("strategy", [CONNIE, PLAIN])
def test_no_gain_is_told_of_a_failed_median(strategy: str) -> None:
    lines = finding_lines(HOME, with_failures("none", strategy, 40))
    found = [line for line in lines if "all alive" in line and f"over {PLAIN} " in line]
    assert found == [f"{what}, all alive: no gain over {PLAIN} can be told: the median of {strategy} failed"
                     for what in ("connect", "first byte")]


def test_failures_count_in_the_interval_of_a_gain() -> None:
    """With 28 of 60 failed the median is a number still, but some draws' medians failed."""
    lines = finding_lines(HOME, with_failures("none", CONNIE, 28))
    line = next(line for line in lines if line.startswith("connect, all alive") and PLAIN in line)
    assert "(95%: failed to +2" in line
    assert "60 pairs" in line
    assert "NOT reproduced" in line


def test_seconds_left(tmp_path: Path) -> None:
    """One strategy goes on as it did, one ends with its budget, and one has spent it."""
    task = ClientTask((), rounds=100, budget_s=8, timeout_s=2, seed=1, client_pid=1, interface="", site_pids=(),
                changed=tmp_path, settle_s=0, jitter_ms=0)
    assert seconds_left(50, task, [2.0, 6.0, 8.5]) == pytest.approx(2.0 + 2.0)


def test_figure() -> None:
    figure = draw(HOME, made_results(60, 80, 60))
    titles = [axes.get_title() for axes in figure.axes]
    assert [title.partition(":")[0] for title in titles if title] == ["none", "dead"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [len(ORDER), len(ORDER)]


def test_figure_of_peers_alone() -> None:
    """`--strategies curl`: nothing of connie's was measured."""
    results = made_results(60, 80, 60)
    alone = replace(results, times=[time for time in results.times if time["strategy"] == "curl"])
    assert [len(axes.get_lines()) for axes in draw(HOME, alone).axes] == [1, 1]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_faults_are_what_they_say(profile: Profile) -> None:
    scenarios = {fault: make_scenario(profile, fault) for fault in faults_of(profile)}
    addresses = [point.address for scenario in scenarios.values() for point in (*scenario.endpoints, *scenario.later)]
    assert len(set(addresses)) == len(addresses), "no address is in two scenarios"
    assert [str(ip_address(address)) for address in addresses] == addresses, "written as getaddrinfo writes them"
    fastest_ms = min(*profile.rtts4_ms, *profile.rtts6_ms)

    def spoiled(fault: str, **what: str) -> list[float]:
        return [point.rtt_ms for point in scenarios[fault].endpoints
                if all(getattr(point, name) == value for name, value in what.items())]
    assert spoiled("none", path=LOSE_ALL) == spoiled("none", server=REFUSE) == []
    assert spoiled("dead", path=LOSE_ALL) == [max(profile.rtts6_ms or profile.rtts4_ms)]
    assert spoiled("dead-fastest", path=LOSE_ALL) == spoiled("refuse", server=REFUSE) == [fastest_ms]
    assert spoiled("slow", server=LATE) == spoiled("recovering", path=LOSE_FIRST_SYN) == [fastest_ms]
    assert scenarios["all-dead"].fastest_alive is scenarios["recovering"].fastest_alive is None
    assert len(scenarios["dns-change"].later) == len(addresses) // len([*scenarios, 1, 2])
    assert ("dead-v6" in scenarios) == bool(profile.rtts6_ms)
    if profile.rtts6_ms:
        assert {":" in point.address for point in scenarios["dead-v6"].endpoints if point.path == LOSE_ALL} == {True}


def test_plan_survives_its_file(tmp_path: Path) -> None:
    scenarios = tuple(make_scenario(HOME, fault) for fault in FAULTS)
    task = ClientTask(scenarios, 10, 2.5, 2.0, 1, 4711, "user-eth0", (1, 2), tmp_path / "changed", 0.5, 4.0, ("curl",))
    write_task(task, tmp_path / "task.json")
    assert read_task(tmp_path / "task.json") == task


def test_a_wrong_rtt_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task = ClientTask((), 10, 2.5, 2.0, 1, 4711, "user-eth0", (), tmp_path, 0.5, 0.0)
    with running_server() as port:
        monkeypatch.setattr(warm_up, "PORT", port)
        warm_up.check_rtt(Endpoint("127.0.0.1", 0, 0.2), task)
        with pytest.raises(ExperimentError, match=r"RTT to 127\.0\.0\.1 is [\d.]+ ms, not 80: nothing was measured"):
            warm_up.check_rtt(Endpoint("127.0.0.1", 0, 80), task)
    with pytest.raises(ExperimentError, match=r"127\.0\.0\.1 cannot be reached: .*refused"):
        warm_up.check_rtt(Endpoint("127.0.0.1", 0, 0.2), task)


def test_addresses_that_a_name_moves_to_are_checked_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scenario = make_scenario(HOME, "dns-change")
    task = ClientTask((scenario,), 10, 2.5, 2.0, 1, 4711, "user-eth0", (), tmp_path, 0.5, 0.0)
    checked: list[Endpoint] = []
    monkeypatch.setattr(warm_up, "_look_up", lambda _scenario: None)
    monkeypatch.setattr(warm_up, "check_rtt", lambda point, _task: checked.append(point))
    warm_up.warm_up(task)
    assert checked == list(scenario.later)


def test_intervals_need_values() -> None:
    with pytest.raises(ValueError, match="no values"):
        rank([], 50)
    assert math.isinf(FAILED)
