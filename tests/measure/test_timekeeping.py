"""How well time was kept: each rule, broken alone, gives its one reason, and no load that kept it gives any."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.analysis.critical_path import Step
from harness.files.layout import Layout
from harness.files.load_parts import LateAnswer, Timekeeping
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure.reason import Blame, texts
from harness.measure.timekeeping import (
    GAP_MS,
    OTHERS_RATIO,
    OWN_MS,
    PACKET_MS,
    STEAL_RATIO,
    STOPPED_MS,
    SUSPENDED_MS,
    WAITED_LEAST_MS,
    WAITED_RATIO,
    Answered,
    Quiet,
    late_answers,
    late_limit_ms,
    nothing_came,
    own_time_ms,
    reasons,
    silence_ms,
)

DATA = Path(__file__).parent.parent / "data"
RTT_MS, PLT_MS = 100.0, 2000.0
LIMIT_MS = 40.0
GOOD = Timekeeping(connect_late_ms=40.0, delay_line_late_ms=0.6, delay_line_late_p99_ms=0.2, steal_ms=0.0, processors=2,
                   stall_ms={"cpu": 900.0, "memory": 0.0, "io": 0.0}, gap_ms=7.0, suspended_ms=0.0, page_waited_ms=20.0,
                   others_busy_ms=1500.0)
ALLOWED_MS = {"a.test": 106.0, "b.test": 106.0}
PATH = [Step("wait", 100, 260, "http://a.test/"), Step("cpu", 260, 1000, "http://b.test/x.js"),
        Step("receive", 1000, 2000, "http://b.test/y.js")]


def late(late_ms: float, *, critical: bool) -> Timekeeping:
    return replace(GOOD, late=(LateAnswer("a.test", 500, late_ms, critical),))


def stall(what: str, stall_ms: float) -> Timekeeping:
    return replace(GOOD, stall_ms={**GOOD.stall_ms, what: stall_ms})


def test_a_load_that_kept_time_has_no_reason_against_it() -> None:
    assert reasons(GOOD, RTT_MS, PLT_MS) == []
    assert reasons(replace(GOOD, delay_line_late_ms=None, delay_line_late_p99_ms=None), RTT_MS, PLT_MS) == []


@pytest.mark.parametrize(("kept", "reason"), [
    (late(LIMIT_MS + 0.1, critical=True), "an answer of a.test was late by 40 ms, and the page waited for it"),
    (late(250.1, critical=False), "an answer of a.test was late by 250 ms: "),
    (replace(GOOD, delay_line_late_ms=312.0),
     "packets were late by up to 312 ms: the delay line could not run, another program kept the processor"),
    (replace(GOOD, stopped_ms={"chromium (renderer)": 99.0}), "chromium (renderer) was stopped for 99 ms"),
    (replace(GOOD, suspended_ms=5000.0), "the machine was suspended for 5.0 s"),
    (replace(GOOD, gap_ms=312.0), "the machine stood still for 312 ms"),
    (replace(GOOD, steal_ms=804.0), "the hypervisor gave the processor to others for 402 ms of the load"),
    (stall("memory", 101.0), "programs waited for memory for 101 ms of the load"),
    (stall("io", 101.0), "programs waited for the disk for 101 ms of the load"),
    (replace(GOOD, page_waited_ms=1 + WAITED_RATIO * PLT_MS), "the page waited for a processor for")])
def test_one_broken_rule_is_one_reason_and_an_accident(kept: Timekeeping, reason: str) -> None:
    [found] = reasons(kept, RTT_MS, PLT_MS)
    assert found.text.startswith(reason)
    assert found.kind == Blame.ACCIDENT


@pytest.mark.parametrize("kept", [
    late(LIMIT_MS, critical=True), late(250.0, critical=False), replace(GOOD, delay_line_late_ms=10 + PACKET_MS),
    replace(GOOD, stopped_ms={"chromium": STOPPED_MS}), replace(GOOD, suspended_ms=SUSPENDED_MS),
    replace(GOOD, gap_ms=GAP_MS), replace(GOOD, steal_ms=2 * STEAL_RATIO * PLT_MS), stall("memory", 100.0),
    stall("io", 100.0), replace(GOOD, page_waited_ms=WAITED_RATIO * PLT_MS), stall("cpu", PLT_MS)])
def test_the_threshold_itself_is_allowed(kept: Timekeeping) -> None:
    assert reasons(kept, RTT_MS, PLT_MS) == []


def test_the_thresholds_are_those_of_the_method() -> None:
    assert late_limit_ms(20, 200) == 5
    assert late_limit_ms(100, PLT_MS) == LIMIT_MS
    assert late_limit_ms(200, 1000) == 23
    assert late_limit_ms(200, 60_000) == 50


def test_only_the_latest_answer_is_told() -> None:
    kept = replace(GOOD, late=tuple(LateAnswer("a.test", at, 300 - at, critical=True) for at in range(100)))
    assert len(reasons(kept, RTT_MS, PLT_MS)) == 1
    assert "late by 300 ms" in texts(reasons(kept, RTT_MS, PLT_MS))[0]


def test_a_silence_within_a_round_trip_and_a_packet_each_way_is_not_late() -> None:
    assert silence_ms(100, 4) == pytest.approx(106.056)
    assert late_answers([Quiet("a.test", 100, 206)], [], ALLOWED_MS, PATH) == []


def test_the_page_waited_for_what_its_critical_path_waited_for_at_that_moment() -> None:
    [answer] = late_answers([Quiet("a.test", 100, 260)], [], ALLOWED_MS, PATH)
    assert answer == LateAnswer("a.test", 100, 54, critical=True)
    [elsewhere] = late_answers([Quiet("b.test", 100, 260)], [], ALLOWED_MS, PATH)
    assert not elsewhere.critical, "another host's"
    [computing] = late_answers([Quiet("b.test", 300, 600)], [], ALLOWED_MS, PATH)
    assert not computing.critical, "the page ran a script then"
    [before] = late_answers([Quiet("b.test", 0, 1000)], [], ALLOWED_MS, PATH)
    assert not before.critical, "the path meets this host only when the silence is over"


def test_hosts_that_share_a_server_are_late_together() -> None:
    """By the server's name: the page waited for the host, and its own time is that of whichever host answered."""
    layout = Layout("one", {"a.test": "one", "b.test": "one"})
    allowed_ms = {"one": 106.0}
    [answer] = late_answers([Quiet("one", 100, 260)], [], allowed_ms, PATH, layout)
    assert answer == LateAnswer("one", 100, 54, critical=True)
    assert late_answers([Quiet("one", 100, 260)], [Answered("one", 200, 60)], allowed_ms, PATH, layout) == []


def test_what_chrome_reads_late_did_not_come_late() -> None:
    silence = Quiet("a.test", 100, 260)
    assert nothing_came(silence, [90, 205, 300], PLT_MS) == [Quiet("a.test", 100, 205)]
    assert nothing_came(silence, [110, 250], PLT_MS) == [Quiet("a.test", 100, 110), Quiet("a.test", 110, 250)]
    assert nothing_came(silence, [261], PLT_MS) == [Quiet("a.test", 100, 261)], "the same packet, by the other clock"
    assert nothing_came(silence, [99.5], PLT_MS) == [], "it had come when Chrome began to wait for it"
    assert nothing_came(silence, [], 260) == [silence], "the load event cut it: it may never have come"


def test_the_servers_own_time_is_not_lateness() -> None:
    quiet = [Quiet("a.test", 100, 260)]
    assert late_answers(quiet, [Answered("a.test", 200, 54)], ALLOWED_MS, PATH) == []
    for other in (Answered("b.test", 200, 54), Answered("a.test", 261, 54), Answered("a.test", 99, 54)):
        assert late_answers(quiet, [other], ALLOWED_MS, PATH)[0].late_ms == 54


@pytest.mark.parametrize(("method", "thinks", "late_ms"), [
    ("GET", False, 300 - OWN_MS), ("GET", True, 0), ("POST", False, 0)])
def test_a_server_that_stood_still_before_its_answer_was_late(method: str, thinks: bool, late_ms: float) -> None:
    """Stopped between a request's head and the answer, it had 300 ms as its own time, and the load counted."""
    request = ServerRequest("a.test", 1000.0, 1, 1, method, "/", 200, 1, FoundAs.PLAIN, syn_data=False, own_ms=300.0)
    found = late_answers([Quiet("a.test", 100, 506)], [Answered("a.test", 456, own_time_ms(request, thinks=thinks))],
                         ALLOWED_MS, PATH)
    assert [answer.late_ms for answer in found] == ([late_ms] if late_ms else [])
    assert not late_ms or texts(reasons(replace(GOOD, late=tuple(found)), RTT_MS, PLT_MS))


@pytest.mark.parametrize(("rtt_ms", "valid"), [(None, True), (1000, True), (10, False)])
def test_an_answer_is_judged_by_its_own_servers_rtt(rtt_ms: float | None, valid: bool) -> None:
    """30 ms late: within a tenth of 300 ms, or of 1000, but not of 10."""
    kept = replace(GOOD, late=(LateAnswer("a.test", 0, 30, critical=True, rtt_ms=rtt_ms),))
    assert (reasons(kept, 300, 500) == []) == valid


def test_the_latest_comes_first() -> None:
    quiet = [Quiet("a.test", 0, 110), Quiet("a.test", 110, 400), Quiet("b.test", 0, 300)]
    assert [answer.late_ms for answer in late_answers(quiet, [], ALLOWED_MS, PATH)] == [194, 184, 4]


def test_a_page_that_waits_for_its_own_browser_only_is_no_accident() -> None:
    """On a machine with one core it waits a lot, and nobody else works."""
    alone = replace(GOOD, page_waited_ms=0.6 * PLT_MS, others_busy_ms=OTHERS_RATIO * PLT_MS)
    assert reasons(alone, RTT_MS, PLT_MS) == []
    assert len(reasons(replace(alone, others_busy_ms=OTHERS_RATIO * PLT_MS + 1), RTT_MS, PLT_MS)) == 1
    short_ms = WAITED_LEAST_MS
    assert reasons(replace(alone, page_waited_ms=0.8 * short_ms, others_busy_ms=short_ms), RTT_MS, short_ms) == []


def test_what_was_not_measured_is_no_reason() -> None:
    assert reasons(Timekeeping(), RTT_MS, PLT_MS) == []


def real_loads(load_average: float) -> list[dict[str, Any]]:
    """Return real loads of en.wikipedia.org as recorded in 2013, at 100 ms, made by benchmarks/disturbed.py.

    `stopped` stood still for 100 ms; the machine was as busy as `load_average` says, on two cores.
    """
    loads = [json.loads(line) for line in (DATA / "injections.jsonl").read_text().splitlines()]
    return [load for load in loads if load["load_average"] == load_average]


def verdict_on(load: dict[str, Any]) -> list[str]:
    kept = replace(msgspec.convert(load["timekeeping"], Timekeeping), processors=2)
    return texts(reasons(kept, load["rtt_ms"], load["plt_ms"]))


@pytest.mark.parametrize(("stopped", "told", "load_averages"), [
    ("delay line", "packets were late by up to 10", (6.3, 14.4)),
    ("network process", "chromium (network) was stopped for 10", (6.3, 14.4)),
    ("everything", "packets were late by up to 10", (6.3, 14.4)),
    ("renderer", "chromium (renderer) was stopped for ", (6.3,))])      # on the busier machine it was never stopped
def test_real_stalls_are_found(stopped: str, told: str, load_averages: tuple[float, ...]) -> None:
    for load_average in load_averages:
        [load] = [load for load in real_loads(load_average) if load["stopped"] == stopped]
        assert any(reason.startswith(told) for reason in verdict_on(load)), load


def test_real_stalls_of_servers_are_found_when_somebody_waited_for_them() -> None:
    found = [load for load in real_loads(6.3) if load["stopped"] == "all servers"]
    assert [reason.startswith("an answer of en.wikipedia.org was late by 54 ms, and the page waited") for load in found
            for reason in verdict_on(load)] == [True]
    asked_nothing = next(load for load in real_loads(6.3) if load["stopped"] == "one server")
    assert verdict_on(asked_nothing) == []
    assert asked_nothing["plt_ms"] < 3000, "as fast as undisturbed ones"


def test_real_loads_that_nobody_disturbed_are_accepted_unless_the_machine_was_overloaded() -> None:
    quiet = [verdict_on(load) for load in real_loads(6.3) if not load["stopped"]]
    assert quiet == [[]] * 8, "one whose server answered 43 ms late, of 3155 ms, included"
    busy = {round(load["plt_ms"]): verdict_on(load) for load in real_loads(14.4) if not load["stopped"]}
    assert [plt_ms for plt_ms, verdict in busy.items() if not verdict] == [3277], "5% stolen, the fastest"
    assert sum("the hypervisor gave the processor to others" in reason
               for verdict in busy.values() for reason in verdict) == 2, "29% and 43%"
