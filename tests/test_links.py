"""What tc says of a link's rate, in all the units it prints."""

import re
import subprocess

import pytest

from harness.errors import ExperimentError
from harness.links import check_qdiscs, kernel_has_netem, parse_rates_mbit, stop_and_complain, wait_for_line
from harness.star import Host, LinkSpeeds, Star


@pytest.mark.parametrize(("line", "mbit"), [
    # Captured from iproute2 6.1 after `tc class add dev lo parent 5: classid 5:1 htb rate ... burst 15k`.
    ("class htb 5:1 root prio 0 rate 4Mbit ceil 4Mbit burst 15Kb cburst 1600b ", 4),
    ("class htb 5:1 root prio 0 rate 1Gbit ceil 1Gbit burst 15125b cburst 1375b ", 1000),
    ("class htb 5:1 root prio 0 rate 10Gbit ceil 10Gbit burst 13750b cburst 0b ", 10_000),
    ("class htb 5:1 root prio 0 rate 1001Mbit ceil 1001Mbit burst 15140b cburst 1376b ", 1001),
    ("class htb 5:1 root prio 0 rate 500Kbit ceil 500Kbit burst 15Kb cburst 1600b ", 0.5),
    ("class htb 5:1 root prio 0 rate 2500Kbit ceil 2500Kbit burst 15Kb cburst 1600b ", 2.5),
    ("class htb 5:1 root prio 0 rate 64bit ceil 64bit burst 2165b cburst 1600b ", 64e-6),
    # With netem below the class tc says "leaf" instead of "prio"; older ones print fractions.
    ("class htb 5:1 root leaf 10: prio 0 rate 4Mbit ceil 4Mbit burst 15Kb cburst 1600b ", 4),
    ("class htb 5:1 root prio 0 rate 2.5Mbit ceil 4Mbit burst 15Kb cburst 1600b ", 2.5)])
def test_units(line: str, mbit: float) -> None:
    assert parse_rates_mbit(line + "\n") == [pytest.approx(mbit)]


def test_several_classes_and_other_kinds() -> None:
    said = ("class htb 5:1 root prio 0 rate 4Mbit ceil 8Mbit burst 15Kb cburst 1600b \n"
            "class fq_codel 8001:1e5 parent 8001: \n"
            "class htb 5:2 parent 5:1 prio 0 rate 1Gbit ceil 1Gbit burst 15125b cburst 1375b \n")
    assert parse_rates_mbit(said) == [4, 1000]


@pytest.mark.parametrize("said", ["", "\n", "RTNETLINK answers: No such file", "class hfsc 1:1 root rate 4Mbit"])
def test_without_a_class_there_is_no_rate(said: str) -> None:
    assert parse_rates_mbit(said) == []


def children(code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(["sh", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("code", "line"), [
    ("echo ready; exec sleep 30", "ready"), ("exit 1", ""), ("echo; echo late", ""), ("exec sleep 30", "")])
def test_the_first_line_of_a_program(code: str, line: str) -> None:
    process = children(code)
    assert wait_for_line(process, 0.3) == line
    process.kill()
    process.communicate(timeout=10)


def test_a_program_that_failed_is_quoted() -> None:
    for code, said in (("echo one >&2; echo two >&2; exit 1", "two"), ("exit 1", "it said nothing")):
        process = children(code)
        process.wait(10)
        with pytest.raises(ExperimentError, match=f"^it broke: {said}$"):
            stop_and_complain(process, "it broke")
        assert process.returncode is not None


LINK = """
ip link set lo up
tc qdisc add dev lo root handle 5: htb default 1
tc class add dev lo parent 5: classid 5:1 htb rate {rate} burst 15k
echo ready
exec sleep 60
"""


@pytest.mark.root
@pytest.mark.parametrize(("rate", "asked_mbit", "problem"), [
    ("4mbit", 4, ""), ("4mbit", 5, r"x: tc gives \[4\.0\] Mbit/s on lo instead of 5"), ("1gbit", 1000, ""),
    ("4020kbit", 4, ""), ("4060kbit", 4, r"x: tc gives \[4\.06\d*\] Mbit/s on lo instead of 4"), ("1500kbit", 1.5, "")])
def test_read_back_from_a_real_interface(rate: str, asked_mbit: float, problem: str) -> None:
    process = subprocess.Popen(["unshare", "--net", "sh", "-c", LINK.format(rate=rate)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert wait_for_line(process, 5) == "ready"
        host = Host("x", "127.0.0.1", "", "lo", process.pid)
        speeds = LinkSpeeds(bw_home_mbit=asked_mbit, bw_net_mbit=asked_mbit)
        found = ""
        try:
            check_qdiscs(Star(host, process.pid, {"a.org": host}), speeds, netem=False)
        except ExperimentError as error:
            found = str(error)
        assert re.fullmatch(problem, found)
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.mark.root
def test_a_link_without_any_rate_or_delay_is_found_out() -> None:
    process = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert wait_for_line(process, 5) == "ready"
        host = Host("x", "127.0.0.1", "", "lo", process.pid)
        with pytest.raises(ExperimentError, match=r"tc gives \[\] Mbit/s on lo instead of 1000"):
            check_qdiscs(Star(host, process.pid), LinkSpeeds(), netem=kernel_has_netem())
    finally:
        process.kill()
        process.communicate(timeout=10)
