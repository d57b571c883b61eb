"""What was noted around a load: which cookies the servers gave, and which answers came late."""

from types import SimpleNamespace
from typing import cast

import pytest

from harness.files.load_parts import CookieCounts, CookieMode, LateAnswer
from harness.measure.timekeeping import reasons
from harness.measure.watch import MOST_LATE, Explained, Watch, cookies_of, timekeeping_of
from harness.network.arrivals import Arrivals, Said
from harness.network.star import Host
from harness.system.pressure import Pressure
from harness.system.ticker import Ticks
from tests.support.made_record import made_record

NAMES = ("www.a.test", "cdn.a.test", "b.test")


@pytest.mark.parametrize(("mode", "first", "visited"), [("cold", 2, 3), ("domain", 1, 2)])
def test_two_servers_of_one_site_gave_a_cookie_and_the_other_site_none(mode: CookieMode, first: int,
                                                                       visited: int) -> None:
    servers = {name: Host(name, f"10.0.0.{number}", "", "", 0) for number, name in enumerate(NAMES, 2)}
    lab = SimpleNamespace(cookies=mode, names={name: [name] for name in NAMES}, star=SimpleNamespace(servers=servers))
    arrivals = Arrivals()
    arrivals.at_s |= {("10.0.0.2", Said.COOKIE): [1.0, 1.1], ("10.0.0.3", Said.COOKIE): [1.2],
                      ("10.0.0.4", Said.CONNECTED): [1.3]}
    record = made_record(connections=[{"id": number, "address": f"10.0.0.{number}:8000"} for number in (2, 3, 4)])
    found = cookies_of(cast(Watch, SimpleNamespace(lab=lab, arrivals=arrivals)), record)
    assert found == CookieCounts(mode=mode, given=3, first=first, visited=visited)


def test_what_the_page_waited_for_is_kept_however_much_else_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers stood still for a moment, and the page waited for the one that lost least by it."""
    others = [LateAnswer(f"{number}.test", 100, 90, critical=False) for number in range(MOST_LATE)]
    waited_for = LateAnswer("a.test", 100, 60, critical=True)
    monkeypatch.setattr("harness.measure.watch._late", lambda *_: [*others, waited_for])
    lab = SimpleNamespace(star=SimpleNamespace(servers={}), speeds=SimpleNamespace(home_is_narrow=False),
                          one_by_one=False, network="star", measured_rtt_ms={})
    watch = SimpleNamespace(lab=lab, lateness=None, ticks=Ticks(samples=[(0.0, Pressure(0, 0, 0, 0, 0, 0))]),
                            arrivals=Arrivals(lost=True))
    record = made_record(rtt_ms=100, plt_ms=2000, time_origin_ms=1e12)
    kept = timekeeping_of(cast(Watch, watch), record, [], Explained(None, []), [])
    assert kept is not None
    assert len(kept.late) == MOST_LATE
    assert waited_for in kept.late
    [reason] = reasons(kept, 100, 2000)
    assert reason.text.startswith("an answer of a.test was late by 60 ms, and the page waited for it")
