"""What is taken over of what a load leaves, and the record of it: Chrome's side may be a hostile page."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.explanation import Step
from harness.browser.program import CLOCK_SHIFT_MS
from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.files.server_log import FoundAs, ServerRequest
from harness.measure import loads
from harness.measure.client_log import REPORT
from harness.measure.coverage import RecordedPage
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import MOST_OUTPUT
from harness.measure.preflight import ReplayedWeb
from harness.measure.record import _reported
from harness.measure.settings import Settings
from harness.measure.timekeeping import PAGE_PROCESS, timekeeping_of, waited_for_others_ms
from harness.network.arrivals import Arrivals, Said
from harness.network.links import Delay
from harness.network.star import LinkSpeeds, loopback_star
from harness.system.ticker import Ticks
from harness.system.untrusted import LARGEST_FILE
from tests.support.made_record import made_record

KNOWN: dict[str, Any] = {
    "url": "http://a.org", "page": "httpa.org", "delaynet_ms": 10, "rtt_ms": 20, "tfo": 1, "run": 2, "experiment": "x",
    "connections_with_request": 3, "syn_data_connections": 3, "counters": {"user": {}, "servers": {}},
    "delay_line_drops": 0, "began_s": 5.0,
    "environment": {"kernel": "6.18", "versions": {"chrome": "156"}, "argv": ["chrome"], "load_average": 0.5}}
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
                      lambda inner: st.lists(inner, max_size=2)
                      | st.dictionaries(st.text(max_size=3), inner, max_size=2))
names = st.sampled_from([*LoadRecord.__dataclass_fields__, "valid", "format"]) | st.text(max_size=4)
LOAD = Load(Page("http://www.one.test/", "httpwww.one.test"), 0, 0)


def late_in(lab: Any, path: Sequence[Step] = (), **noted: Any) -> list[tuple[str, int, bool]]:
    """Return what was late in a load of 2 s, as its record has it: by how many ms, and whether the page waited."""
    ticks = Ticks()
    ticks.note(0.0, 0, busy=0.0, steal=0.0, suspended=0.0)
    around = {"requests": [], "arrivals": Arrivals(), "report": {}} | noted
    kept = timekeeping_of(Mock(lab=lab, environment={}, ticks=ticks, recorded=RecordedPage({}), **around),
                          made_record(rtt_ms=100, plt_ms=2000, time_origin_ms=1e12 + CLOCK_SHIFT_MS), path)
    assert kept
    return [(answer.host, round(answer.late_ms), answer.critical) for answer in kept.late]


@pytest.mark.parametrize(("home_mbit", "late"), [(11, []), (12, [("c.test", 374, False)])])
def test_no_answer_is_late_where_all_servers_together_are_faster_than_the_clients_link(home_mbit: float, late: object,
                                                                                       ) -> None:
    """They may fill that link, and whoever seems silent waits for it."""
    star, arrivals, lab = loopback_star(["a.test", "b.test", "c.test"]), Arrivals(), object.__new__(Laboratory)
    address = star.servers["c.test"].address
    arrivals.note(address, Said.ANSWER, [1e9 + 0.5])
    vars(lab).update(web=ReplayedWeb(page_set=Mock()), measured_rtt_ms=dict.fromkeys(star.servers, 20.0),
                     delay=Delay(star), speeds=LinkSpeeds(bw_home_mbit=home_mbit))
    silence = {"server": address, "start_ms": 100.0, "end_ms": 500.0, "connecting": False}
    assert late_in(lab, arrivals=arrivals, report={"silences": [silence]}) == late


def test_on_loopback_what_a_server_lets_go_after_it_was_due_is_late() -> None:
    """An answer that is due after the load event, and one that was not held back, are not."""
    lab = Mock(settings=Settings(), queues_at_home=False, network="loopback", delay=Delay(loopback_star([])))
    requests = [ServerRequest(host, 1e9 + due_s, 1, 1, "GET", "/", 200, 1, FoundAs.PLAIN, syn_data=False, own_ms=own_ms)
                for host, due_s, own_ms in (("a.test", 0.1, 30.0), ("a.test", 2.1, 70.0), ("c.test", 0.01, None))]
    path = [Step("wait", 0, 130, "http://a.test/")]
    assert late_in(lab, path, requests=requests) == [("a.test", 30, True)]


@pytest.mark.parametrize(("servers_ms", "busy_ms", "steal_ms", "waited_ms"), [
    (0, 600, 0, 0), (100, 750, 50, 200), (1000, 1600, 0, 300), (30, 0, 0, 30)])
def test_a_page_waited_for_others_no_longer_than_they_worked(servers_ms: float, busy_ms: float, steal_ms: float,
                                                             waited_ms: float) -> None:
    """Chrome worked for 600 ms of this second, and its page waited for 300: for Chrome itself, or for these."""
    ticks = Ticks(names={1: f"chrome {PAGE_PROCESS}"})
    for now_s in (0, 1):
        ticks.note(now_s, 0, busy=busy_ms * now_s, steal=steal_ms * now_s)
        ticks.note(now_s, 1, worked=600.0 * now_s, waited=300.0 * now_s)
        ticks.note(now_s, 2, worked=50 + servers_ms * now_s)
    assert waited_for_others_ms(ticks, 0.0, 1.0) == waited_ms


@given(report=st.dictionaries(names, values))
def test_any_report_gives_a_record_that_says_what_is_known_here(report: dict[str, Any]) -> None:
    found = _reported(report, KNOWN)
    for name, value in KNOWN.items():
        if name != "environment":
            assert getattr(found, name) == value
    assert (found.attempt, found.answers, found.timekeeping, found.why_not) == (1, None, None, ())
    assert LoadRecord.from_json({**found.to_json(), "valid": True}) == found


def test_what_a_report_says_is_taken_over_or_all_of_it_is_an_error_of_the_load() -> None:
    found = _reported({"fcp_ms": 12.5, "lcp_ms": 40.0, "plt_ms": 100.0}, KNOWN)
    assert (found.fcp_ms, found.lcp_ms, found.plt_ms, found.errors) == (12.5, 40.0, 100.0, ())
    found = _reported({"fcp_ms": 12.5, "plt_ms": "fast", "errors": []}, KNOWN)
    assert found.errors[0].startswith("the report of load_page.py is not one: ")
    assert (found.fcp_ms, found.plt_ms) == (None, None)
    assert found.environment is not None
    assert (found.environment.kernel, found.environment.argv) == ("6.18", None)


def test_the_end_of_a_program_beside_a_load_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a traceback: the socket to it is closed."""
    ended = ExperimentError("the delay line ended (killed by SIGKILL): it did not say why")
    monkeypatch.setattr(loads, "measure_load", Mock(side_effect=BrokenPipeError))
    with pytest.raises(ExperimentError, match=r"^the delay line .*SIGKILL"):
        loads.record_of(Mock(check_programs_beside=Mock(side_effect=[None, ended])), LOAD)


def taken_over(directory: Path, complaint: str = "") -> dict[str, Any]:
    """Return what is said of a load that left its files in `directory`, and whose log would be kept in kept/."""
    (directory / "kept").mkdir(exist_ok=True)
    return loads.take_over(directory, directory / "kept", "page", io.BytesIO(b"Traceback\n"), complaint)


def test_what_is_no_file_of_ours_is_not_taken(tmp_path: Path) -> None:
    """Such as a link; what else is none: tests/system/test_untrusted.py."""
    for name in (REPORT, "page", "page.har", "chromedriver.log"):
        (tmp_path / name).symlink_to("/etc/hostname")
    report = taken_over(tmp_path)
    assert report["errors"] == ["load_page.py left no report: it is a symbolic link"]
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == sorted(report["logs"]), "no log, no HAR"
    (tmp_path / "page.har").unlink()
    (tmp_path / "page.har").touch()
    os.truncate(tmp_path / "page.har", LARGEST_FILE + 1)
    taken_over(tmp_path)
    assert not (tmp_path / "kept" / "page.har").exists(), "too large"


def test_what_is_no_report_is_an_error_and_the_last_words_are_kept(tmp_path: Path) -> None:
    (tmp_path / REPORT).write_text("[]")
    (tmp_path / "chromedriver.log").write_bytes(b"x" * MOST_OUTPUT * 3 + b"the end\n")
    assert taken_over(tmp_path)["errors"] == ["load_page.py left no report: no JSON object"]
    report = taken_over(tmp_path, "Chrome hung: no end after 60 s")
    assert report["errors"] == ["Chrome hung: no end after 60 s"]
    drivers, words = ((tmp_path / "kept" / name).read_bytes() for name in report["logs"])
    assert (len(drivers), drivers[-9:], words) == (MOST_OUTPUT, b"xthe end\n", b"Traceback\n")
