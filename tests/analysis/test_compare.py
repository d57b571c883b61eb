"""Two folders of results against each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.compare import IMPROVEMENT, NO_TFO, TFO, Difference, Side, compare, read_sides, welch
from harness.analysis.selection import Cell
from harness.analysis.setups import differing_settings
from harness.errors import InputError
from harness.show.comparison import format_comparison, is_whole
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.plotted import plot

ROOT = Path(__file__).resolve().parent.parent.parent
OLD = ROOT / "tests" / "data" / "2013"
NEWS_PAGE, POST_PAGE = "httpwww.news.example", "httpblog.example2013post"


def noisy_client(clientdir: Path, off_ms: float, on_ms: float, seed: int, *, runs: int = 6, delaynet_ms: float = 10,
                 **experiment: Any) -> Path:
    """Write an experiment on two pages with 1% of noise, with TFO off and on as fast as is said."""
    make_client(clientdir, delays_ms=[delaynet_ms], runs=0, **experiment)
    generator = np.random.default_rng(seed)
    for url in (NEWS, POST):
        for tfo, plt_ms in enumerate((off_ms, on_ms)):
            for run in range(1, runs):
                add_load(clientdir, url, delaynet_ms, run, tfo, float(plt_ms * generator.normal(1, 0.01)),
                         environment={"versions": {"chrome": experiment.get("chrome", "156.0")}})
    return clientdir


def sides(a: Path, b: Path, metric: str = "load") -> tuple[Side, Side]:
    return read_sides([a, b], metric)


def verdicts(differences: list[Difference]) -> dict[tuple[str, str], bool]:
    return {(difference.row[0], difference.what): difference.is_sure for difference in differences}


def test_a_folder_does_not_differ_from_itself(tmp_path: Path) -> None:
    client = noisy_client(tmp_path, 1000, 900, 1)
    both = sides(client, client)
    assert {difference.p for difference in compare(*both)} == {1.0}
    assert {(difference.n_a, difference.n_b) for difference in compare(*both)} == {(5, 5)}
    assert is_whole(*both)
    assert "The set-ups do not differ in anything that was recorded." in format_comparison(*both)


def test_what_differs_is_found_and_what_does_not_is_not(tmp_path: Path) -> None:
    a = noisy_client(tmp_path / "a", 1000, 900, 1)
    b = noisy_client(tmp_path / "b", 800, 720, 2)       # all a fifth faster, TFO saves 10% as before
    found = compare(*sides(a, b))
    assert verdicts(found) == {(page, what): what != IMPROVEMENT for page in (NEWS_PAGE, POST_PAGE)
                               for what in (NO_TFO, TFO, IMPROVEMENT)}
    off = found[0]
    assert (off.row, off.what) == ((NEWS_PAGE, 20), NO_TFO)
    assert off.a == pytest.approx(1000, rel=0.02)
    assert off.b == pytest.approx(800, rel=0.02)
    assert off.half_width == pytest.approx(2.3 * 10 * 1.28 / 5 ** 0.5, rel=0.6)     # t * standard error


def test_the_improvement_can_differ_alone(tmp_path: Path) -> None:
    a, b = noisy_client(tmp_path / "a", 1000, 900, 3), noisy_client(tmp_path / "b", 1000, 700, 4)
    assert verdicts(compare(*sides(a, b))) == {(page, what): what != NO_TFO for page in (NEWS_PAGE, POST_PAGE)
                                               for what in (NO_TFO, TFO, IMPROVEMENT)}


def test_many_tests_are_adjusted_for(tmp_path: Path) -> None:
    """Of six tests one has p = 0.02 by chance, as one in eight such comparisons has: adjusted, that is none."""
    both = sides(noisy_client(tmp_path / "a", 1000, 900, 7), noisy_client(tmp_path / "b", 1000, 900, 8))
    found = compare(*both)
    raw = [welch(*(side.selection.plts_ms(Cell(page, 20, tfo)) for side in both))
           for page in (NEWS_PAGE, POST_PAGE) for tfo in (0, 1)]
    assert min(result[0] for result in raw if result) < 0.05
    assert not any(difference.is_sure for difference in found)


@pytest.mark.parametrize("n", [3, 10])
def test_no_difference_is_seldom_called_one(n: int) -> None:
    """500 experiments know a share of 0.05 to 0.03 (3 standard errors)."""
    generator = np.random.default_rng(n)
    found = [welch(list(generator.normal(1000, 20, n)), list(generator.normal(1000, 20, n))) for _ in range(500)]
    share = sum(result is not None and result[0] < 0.05 for result in found) / len(found)
    assert 0.02 < share < 0.08


def test_what_cannot_be_tested() -> None:
    assert welch([], [1, 2]) is None
    assert welch([1], [1, 2]) is None
    assert welch([5, 5], [5, 5]) is None
    assert welch([5, 5], [7, 7]) is None        # no spread: nothing to hold the difference against
    p, half_width = welch([5, 5], [5, 7]) or (0, 0)
    assert p == pytest.approx(0.5)
    assert half_width == pytest.approx(12.706, abs=0.001)       # t of 1 degree of freedom, times 1


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    a = noisy_client(tmp_path / "a", 1000, 900, 1, kernel="6.18", sysctls={"net.ipv4.tcp_sack": "1"})
    b = noisy_client(tmp_path / "b", 1000, 900, 1, kernel="6.18", sysctls={"net.ipv4.tcp_sack": "0"}, http="1.1",
                     bw_net_mbit=20, chrome="157.0", order=[1], measured_rtt_ms={"a": 20.3})
    noisy_client(b, 1000, 900, 1, delaynet_ms=50, http="1.0", chrome="157.0")
    assert list(differing_settings(*(side.results for side in sides(a, b)))) == [
        "http: 1.0 | 1.0 and 1.1", "net.ipv4.tcp_sack: 1 | 0", "chrome: 156.0 | 157.0",
        "bw_net_mbit: not recorded | 20"]


def test_rows_and_cells_of_one_folder_only_are_named(tmp_path: Path) -> None:
    a, b = noisy_client(tmp_path / "a", 1000, 900, 1), noisy_client(tmp_path / "b", 1000, 900, 2)
    noisy_client(b, 1000, 900, 2, delaynet_ms=50)
    for run in range(1, 6):
        add_load(b, NEWS, 10, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    both = sides(a, b)
    report = format_comparison(*both)
    assert not is_whole(*both)
    assert f"Only in B:\n  {NEWS_PAGE} at 100 ms\n  {POST_PAGE} at 100 ms\n" in report
    assert "Only in A" not in report
    assert f"Measured in one only:\n  {NEWS_PAGE} at 20 ms, TFO\n  {NEWS_PAGE} at 20 ms, Improv.\n" in report
    assert "\t20\tTFO\t5\t0\t0." in report
    rows = [line for line in report.splitlines() if line.startswith("\t")]
    assert len(rows) == 6
    assert all(len(row.split("\t")) == 11 for row in rows)
    assert max(len(cell) for row in rows for cell in row.split("\t")) < 8


def test_2013_logs_are_compared_by_their_last_transaction(tmp_path: Path) -> None:
    for delaynet_ms in (10, 50):
        for run in (1, 2):
            for tfo in (0, 1):
                add_load(tmp_path, NEWS, delaynet_ms, run, tfo, 500 + run)
    both = sides(OLD, tmp_path)
    assert {side.selection.metric for side in both} == {"last"}
    report = format_comparison(*both)
    assert "program: the tool of 2013, which recorded no settings | TFO Lab" in report
    assert "what the 2013 tool called page load time" in report
    assert "Nothing was tested: a test needs two runs or more on both sides." in report
    assert "\t20\tno TFO\t1\t2\t0.339\t0.60" in report


def test_a_folder_of_earlier_results_has_its_logs_in_client(tmp_path: Path) -> None:
    a = noisy_client(tmp_path / "results-2026-11-21" / "client", 1000, 900, 1)
    assert [side.results.clientdir for side in sides(a.parent, a)] == [a, a]


def test_nothing_to_compare(tmp_path: Path) -> None:
    a = noisy_client(tmp_path / "a", 1000, 900, 1)
    with pytest.raises(InputError, match="none:1: no such folder to compare"):
        sides(a, tmp_path / "none")
    with pytest.raises(InputError, match=r"no page and RTT that .*/a has, too"):
        sides(a, noisy_client(tmp_path / "b", 1000, 900, 1, delaynet_ms=50))


def test_as_it_is_typed(tmp_path: Path) -> None:
    noisy_client(tmp_path / "a", 1000, 900, 1)
    noisy_client(tmp_path / "b" / "client", 1000, 900, 2, http="1.1")
    done = plot(tmp_path, "--compare", "a", "b", "--append", "notes.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:4] == ["A: a", "B: b/client", "The set-ups differ in:", "  http: 1.0 | 1.1"]
    assert "adjusted for 6 tests (Benjamini-Hochberg)" in done.stdout
    assert (tmp_path / "notes.txt").read_text() == f"\n{done.stdout}"
    add_load(tmp_path / "a", "http://only.example", 10, 1, 0, 1000)
    assert plot(tmp_path, "--compare", "a", "b").returncode == 1
    for wrong in (["none"], ["b", "--format", "png"]):
        refused = plot(tmp_path, "--compare", "a", *wrong)
        assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (2, "", 1)
        assert wrong[-1] == "none" or f"plot.py: {wrong[1]} has no effect with --compare" in refused.stderr
