"""What tc says of a link's rate, in all the units it prints."""

import re

import pytest

from harness.errors import ExperimentError
from harness.network.links import check_qdiscs, parse_rates_mbit
from harness.network.star import LinkSpeeds, Star
from tests.support.namespaces import host_with


def test_units() -> None:
    """Captured from iproute2 6.1 after `tc class add dev lo parent 5: classid 5:1 htb rate ... burst 15k`.

    With netem below the class tc says "leaf" instead of "prio"; older ones print fractions.
    """
    assert parse_rates_mbit("""
class hfsc 1:1 root rate 4Mbit
class fq_codel 8001:1e5 parent 8001:
class htb 5:1 root prio 0 rate 1Gbit ceil 1Gbit burst 15125b cburst 1375b
class htb 5:1 root prio 0 rate 500Kbit ceil 500Kbit burst 15Kb cburst 1600b
class htb 5:1 root prio 0 rate 64bit ceil 64bit burst 2165b cburst 1600b
class htb 5:1 root leaf 10: prio 0 rate 2.5Mbit ceil 4Mbit burst 15Kb cburst 1600b
""") == pytest.approx([1000, 0.5, 64e-6, 2.5])


LINK = """
ip link set lo up
tc qdisc add dev lo root handle 5: htb default 1
tc class add dev lo parent 5: classid 5:1 htb rate {rate} burst 15k
"""


@pytest.mark.root
@pytest.mark.parametrize(("setup", "speeds", "netem", "problem"), [
    (LINK.format(rate="4020kbit"), LinkSpeeds(4, 4), False, ""),
    (LINK.format(rate="4060kbit"), LinkSpeeds(4, 4), False, r"x: tc gives \(\[4\.06\d*\], .* instead of \(\[4\], .*"),
    ("", LinkSpeeds(), False, r"x: tc gives \(\[\], .* instead of \(\[1000\], .*"),
    # Mininet prints tc's error and carries on without the delay.
    (LINK.format(rate="4mbit"), LinkSpeeds(4, 4, delay_home_ms=10), True, r"x: .*, \[\]\) on lo .* \[10\]\) .*")])
def test_read_back_from_a_real_interface(setup: str, speeds: LinkSpeeds, netem: bool, problem: str) -> None:
    found = ""
    with host_with(setup) as host:
        try:
            check_qdiscs(Star(host, host.pid, {"a.org": host}), speeds, netem=netem)
        except ExperimentError as error:
            found = str(error)
    assert re.fullmatch(problem, found)
