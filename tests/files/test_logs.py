"""Reading and writing logs in the 2013 text format."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.text_log import PageLog, Resolve, Response, Transaction, format_log, read_log

GOLDEN = Path(__file__).parent.parent / "data" / "golden-log.txt"
RESOLVES = [Resolve(84.957, 336.873, 0, "www.example.org:80", "10.0.0.3:8000"),
            Resolve(85.066, 85.066, 1, "www.example.org:80", ""),
            Resolve(101.25, 140.5, -105, "cdn.example.org:443", "")]
"""Those of the golden log, which nobody reads."""


def test_format_is_the_golden_one_and_reads_back() -> None:
    log = read_log(GOLDEN)
    assert log.transactions[0] == Transaction(84.914, 700.419, "http://www.example.org/")
    assert log.responses[0].redirect_url is None
    assert format_log(replace(log, resolves=RESOLVES)) == GOLDEN.read_text()


def test_what_a_server_sent_cannot_make_rows_of_its_own(tmp_path: Path) -> None:
    urls = [f"http://a.test{path}" for path in ("/", "/a | b", "/x -> y", "/</transactions>", "/a#<stats>", "/ -> nil")]
    hostile = PageLog(transactions=[Transaction(-1.0, 2.0, url) for url in urls], transactions_seen=True,
                      responses=[Response("OK\n</responses>|", "text/\rhtml", "a|b", url, None) for url in urls])
    path = tmp_path / "log"
    path.write_text(format_log(hostile))
    log = read_log(path)
    assert log.transactions == hostile.transactions
    assert log.responses == [Response("OK </responses>", "text/ html", "a b", url, None) for url in urls]
    assert log.problems == []


@given(cut=st.integers(0, 1000), noise=st.binary(max_size=40))
def test_no_cut_or_noise_raises(tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(GOLDEN.read_bytes()[:cut] + noise)
    damaged = read_log(path)
    assert len(damaged.transactions) <= 2 + 1
    assert damaged.transactions_seen or not damaged.transactions
