"""Which cookies the servers gave in a load, by what was noted around it."""

from types import SimpleNamespace
from typing import cast

import pytest

from harness.files.load_parts import CookieCounts, CookieMode
from harness.measure.watch import Watch, cookies_of
from harness.network.arrivals import Arrivals, Said
from harness.network.star import Host
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
