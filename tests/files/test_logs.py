"""Reading and writing logs in the 2013 text format."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.text_log import PageLog, Resolve, Response, Transaction, format_log, read_log

DATA = Path(__file__).parent.parent / "data"

LOG = PageLog(
    resolves=[Resolve(84.957, 336.873, 0, "www.example.org:80", "10.0.0.3:8000"),
              Resolve(85.066, 85.066, 1, "www.example.org:80", ""),
              Resolve(101.25, 140.5, -105, "cdn.example.org:443", "")],
    transactions=[Transaction(84.914, 700.419, "http://www.example.org/"),
                  Transaction(702.0, 12345.678, "http://www.example.org/a | b?to=x -> y")],
    responses=[Response("OK", "text/html", "utf-8", "http://www.example.org/", None),
               Response("Moved Temporarily", "text/html", "", "http://www.example.org/a | b?to=x -> y",
                        "http://cdn.example.org/c"),
               Response("", "", "", "https://cdn.example.org/refused", None)],
    transactions_seen=True, transactions_whole=True)


def read_text(tmp_path: Path, text: str) -> PageLog:
    path = tmp_path / "log"
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    return read_log(path)


def test_format_is_the_golden_one() -> None:
    assert format_log(LOG) == (DATA / "golden-log.txt").read_text()


def test_golden_log_reads_back() -> None:
    assert read_log(DATA / "golden-log.txt") == replace(LOG, resolves=[])


def test_what_a_server_sent_cannot_make_rows_of_its_own(tmp_path: Path) -> None:
    hostile = PageLog(transactions=[Transaction(1.0, 2.0, "http://a/")], transactions_seen=True,
                      responses=[Response("OK\n</responses>|", "text/\rhtml", "a|b", "http://a/", None)])
    log = read_text(tmp_path, format_log(hostile))
    assert log.responses == [Response("OK </responses>", "text/ html", "a b", "http://a/", None)]
    assert log.problems == []


times_ms = st.integers(-10**4, 10**8).map(lambda thousandths: thousandths / 1000)
spans_ms = st.tuples(times_ms, times_ms).map(sorted)
printable = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufffd")
texts = st.text(printable, max_size=30).map(str.strip)
urls = (texts | st.sampled_from(["/a | b", "/x -> y", "/</transactions>", "/a#<stats>", "/ -> nil"])).map(
    lambda rest: f"http://example.org/{rest}")
columns = st.text(printable, max_size=20).map(lambda text: text.replace("|", " ").strip())
redirects = st.none() | urls.map(lambda url: url.replace(" -> ", ""))
logs = st.builds(
    PageLog,
    resolves=st.just(LOG.resolves),
    transactions=st.lists(st.builds(lambda span, url: Transaction(span[0], span[1], url), spans_ms, urls)),
    responses=st.lists(st.builds(Response, columns, columns, columns, urls, redirects)),
    transactions_seen=st.just(True), transactions_whole=st.just(True))


@given(log=logs)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, log: PageLog) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip"
    path.write_text(format_log(log), encoding="utf-8")
    assert read_log(path) == replace(log, resolves=[])


@given(log=logs, cut=st.integers(0, 3000), noise=st.binary(max_size=40))
def test_no_cut_or_noise_raises(tmp_path_factory: pytest.TempPathFactory, log: PageLog, cut: int, noise: bytes) -> None:
    whole = format_log(log).encode()
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(whole[:cut] + noise)
    damaged = read_log(path)
    assert len(damaged.transactions) <= len(log.transactions) + 1
    assert damaged.transactions_seen or not damaged.transactions
