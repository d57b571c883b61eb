"""Table 1 of the paper beside ours: the figures, the difference, and when it is left out."""

from pathlib import Path

import pytest

from harness.analysis.stats import improvement_percent
from harness.show.paper import TABLE_1, paper_lines
from tests.support.client_folder import make_client, selected

PAGES = ("http://www.amazon.com", "http://en.wikipedia.org/wiki/Transmission_Control_Protocol", "http://other.example")


def lines(client: Path) -> list[str]:
    return list(paper_lines(selected(client)))


def test_each_row_that_the_paper_has_too(tmp_path: Path) -> None:
    found = lines(make_client(tmp_path, delays_ms=(10, 50, 75), urls=PAGES, paper=True))
    assert found[2:] == [
        "httpwww.amazon.com",
        "\t20\t1.54\t1.48\t4%\t1.062\t1.042\t1.88%\t-2.0",
        "\t100\t2.60\t2.34\t10%\t1.302\t1.202\t7.68%\t-2.3",
        "httpen.wikipedia.orgwikiTransmission_Control_Protocol",
        "\t20\t2.10\t1.95\t7%\t1.562\t1.542\t1.28%\t-5.9",
        "\t100\t3.49\t2.92\t16%\t1.802\t1.702\t5.55%\t-10.8",
        "What differs still: synthetic pages, another Chrome, and n = 3 loads, where the paper has 10."]


def test_no_row_of_an_rtt_that_the_paper_does_not_have(tmp_path: Path) -> None:
    found = lines(make_client(tmp_path, delays_ms=(9.8, 10, 10.2, 99.9), urls=PAGES[:1], paper=True))
    assert [line.split("\t")[1] for line in found if line.startswith("\t")] == ["20"]
    assert lines(make_client(tmp_path / "none", delays_ms=(9.8,), urls=PAGES[:1], paper=True)) == []
    assert lines(make_client(tmp_path / "as-recorded", delays_ms=[50], urls=PAGES[:1], paper=True,
                             rtt="recorded*2", server_rtts_ms={"a.test": 12.3, "b.test": 180.4})) == []


def test_what_differs_is_said_and_nothing_else(tmp_path: Path) -> None:
    [*_, cold] = lines(make_client(tmp_path / "a", delays_ms=[50], urls=PAGES[:1], runs=11, paper=True, cookies="cold"))
    assert cold == "What differs still: synthetic pages, another Chrome, and --cookies cold."
    [*_, alike] = lines(make_client(tmp_path / "b", delays_ms=[50], urls=PAGES[:1], runs=11, paper=True))
    assert alike == "What differs still: synthetic pages, and another Chrome."


@pytest.mark.parametrize("paper", [False, None])
def test_only_where_the_network_was_the_papers(tmp_path: Path, paper: bool | None) -> None:
    assert lines(make_client(tmp_path, urls=PAGES, paper=paper)) == []
    assert lines(make_client(tmp_path / "other", urls=("http://other.example",), paper=True)) == []


def test_the_papers_improvements_are_those_that_it_prints() -> None:
    """Table 1 gives them as whole percentages, which pins down its times."""
    printed = {"amazon.com": (4, 10, 11), "nytimes.com": (4, 6, 18), "wsj.com": (5, 6, 11),
               "wikipedia.org": (7, 16, 41)}
    for site, rows in TABLE_1.items():
        for (off_s, on_s), percent in zip(rows.values(), printed[site], strict=True):
            assert improvement_percent(off_s, on_s) == pytest.approx(percent, abs=0.6), site
