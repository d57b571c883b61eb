"""Two folders of results against each other."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.compare import IMPROVEMENT, NO_TFO, TFO, compare, read_sides, welch
from harness.show.comparison import format_comparison
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.forked import plot
from tests.support.ran import assert_refused

OLD = Path(__file__).resolve().parents[1] / "data" / "2013"


def noisy_client(clientdir: Path, off_ms: float, on_ms: float, seed: int, *, delaynet_ms: float = 10,
                 **experiment: Any) -> Path:
    """Write five runs of two pages with 1% of noise, with TFO off and on as fast as is said."""
    make_client(clientdir, delays_ms=[delaynet_ms], runs=0, **experiment)
    generator = np.random.default_rng(seed)
    for url, tfo, run in product((NEWS, POST), (0, 1), range(1, 6)):
        add_load(clientdir, url, delaynet_ms, run, tfo, float((off_ms, on_ms)[tfo] * generator.normal(1, 0.01)),
                 environment={"versions": {"chrome": experiment.get("chrome", "156.0")}})
    return clientdir


@pytest.mark.parametrize(("b_ms", "seeds", "differs"), [
    ((800, 720), (1, 2), (NO_TFO, TFO)),            # all a fifth faster, TFO saves 10% as before
    ((1000, 700), (3, 4), (TFO, IMPROVEMENT)),      # the improvement alone
    ((1000, 900), (7, 8), ())])                     # nothing; but one of six tests has p = 0.02 by chance
def test_what_differs_is_found_and_what_does_not_is_not(tmp_path: Path, b_ms: tuple[float, float],
                                                        seeds: tuple[int, int], differs: tuple[str, ...]) -> None:
    both = read_sides([noisy_client(tmp_path / "a", 1000, 900, seeds[0]),
                       noisy_client(tmp_path / "b", *b_ms, seeds[1])], "load")
    found = compare(*both)
    assert [(each.row.url, each.what, each.is_sure) for each in found] == [
        (url, what, what in differs) for url in (NEWS, POST) for what in (NO_TFO, TFO, IMPROVEMENT)]
    raw = [welch(a.plts_ms, b.plts_ms) for a, b in zip(both[0].cells, both[1].cells, strict=True)]
    assert min(result[0] for result in raw if result) < 0.05
    off = found[0]
    assert [off.a, off.b] == pytest.approx([1000, b_ms[0]], rel=0.02)
    assert off.half_width == pytest.approx(2.3 * 10 * 1.28 / 5 ** 0.5, rel=0.8)     # t * standard error


def test_what_cannot_be_tested() -> None:
    for a, b in (([], [1, 2]), ([1], [1, 2]), ([5, 5], [5, 5]), ([5, 5], [7, 7])):      # the last two: no spread
        assert welch(a, b) is None
    assert [*(welch([5, 5], [5, 7]) or ())] == pytest.approx([0.5, 12.706], abs=0.001)    # t of 1 degree of freedom


def test_2013_logs_are_compared_by_their_last_transaction(tmp_path: Path) -> None:
    for run in (1, 2):
        add_load(tmp_path, NEWS, 10, run, 0, 500 + run)
    text, _ = format_comparison(*read_sides([OLD, tmp_path], "load"))
    assert "\t20\tno TFO\t1\t2\t0.339\t0.60" in text
    assert text.count("2013, which recorded no settings") == 1


def test_as_it_is_typed(tmp_path: Path) -> None:
    """Settings that differ are named; rows and cells of one folder only, too, and make its exit status 1."""
    noisy_client(tmp_path / "a", 1000, 900, 1, kernel="6.18", sysctls={"net.ipv4.tcp_sack": "1"})
    noisy_client(tmp_path / "c", 1000, 900, 1, delaynet_ms=50)
    same = plot(tmp_path, "--compare", "a", "a", status=0)
    assert "\nThe set-ups do not differ in anything that was recorded.\n" in same.stdout
    newer: dict[str, Any] = {"chrome": "157.0", "layout": "one: 9 hosts"}
    b = noisy_client(tmp_path / "b" / "client", 1000, 900, 2, kernel="6.18", sysctls={"net.ipv4.tcp_sack": "0"},
                     http="1.1", bw_net_mbit=20, order=[1], measured_rtt_ms={"a": 20.3}, **newer)
    noisy_client(b, 1000, 900, 2, delaynet_ms=50, http="1.0", **newer)
    for run in range(1, 6):
        add_load(b, NEWS, 10, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    done = plot(tmp_path, "--compare", "a", "b", "--append", "notes.txt")
    assert (done.returncode, done.stderr) == (1, "")
    assert (tmp_path / "notes.txt").read_text() == f"\n{done.stdout}"
    head, _, legend = done.stdout.partition("\nno TFO, TFO: ")
    assert head.expandtabs() == """\
A: a
B: b/client
The set-ups differ in:
  http: 1.0 | 1.0 and 1.1
  net.ipv4.tcp_sack: 1 | 0
  chrome: 156.0 | 157.0
  bw_net_mbit: not recorded | 20
  layout: not recorded | one: 9 hosts

Page    RTT(ms) what    n A     n B     A       B       B - A   +-      p       differs
httpwww.news.example
        20      no TFO  5       5       1.003   0.996   -0.008  0.019   0.895   no
        20      TFO     5       0       0.903   -       -       -       -       -
        20      Improv. 5       0       9.98%   -       -       -       -       -
httpblog.example2013post
        20      no TFO  5       5       0.998   0.997   -0.001  0.009   0.895   no
        20      TFO     5       5       0.898   0.899   +0.001  0.007   0.895   no
        20      Improv. 5       5       10.08%  9.81%   -0.28   1.17    0.895   no
"""
    assert legend.partition("Only in")[2] == """ B:
  httpwww.news.example at 100 ms
  httpblog.example2013post at 100 ms
Measured in one only:
  httpwww.news.example at 20 ms, TFO
  httpwww.news.example at 20 ms, Improv.
"""
    for wrong in (["none"], ["c"], ["b", "--format", "png"]):
        assert_refused(plot(tmp_path, "--compare", "a", *wrong))
