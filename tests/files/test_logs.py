"""Reading and writing logs in the 2013 text format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
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
    assert read_log(DATA / "golden-log.txt") == LOG


def test_real_layout_with_a_crash_dump_before_a_tag(tmp_path: Path) -> None:
    dump = "Received signal 11 SEGV_MAPERR\n [0x7f59c314abd0] <stats>\nc:tcp.connect:\t59\n</stats>\n"
    assert read_text(tmp_path, dump + format_log(LOG)) == LOG


def test_lines_inside_sections_that_are_no_rows_are_skipped_and_reported(tmp_path: Path) -> None:
    lines = format_log(LOG).split("\n")
    at = lines.index("<transactions>") + 3
    lines[at:at] = ["(test_shell:11903): Gtk-WARNING **: no display", "", "#0 0x55 base::debug", "x | y | z | q"]
    log = read_text(tmp_path, "\n".join(lines))
    assert log.transactions == LOG.transactions
    assert log.transactions_whole
    assert [problem.partition("log:")[2] for problem in log.problems] == [
        f"{at + 1}: this line is no row of <transactions>; skipped",
        f"{at + 3}: lines {at + 3} to {at + 4} are no row of <transactions>; skipped"]


@pytest.mark.parametrize("row", ["nan | 5.0 | 1.0 | http://a/", "9.0 | 5.0 | -4.0 | http://a/",
                                 "1.0 | inf | 1 | http://a/",
                                 "-inf | 5.0 | 6.0 | http://a/", "1.0 | 5.0 | 4.0 |", "1.0 | 5.0"])
def test_impossible_rows_are_reported(tmp_path: Path, row: str) -> None:
    log = read_text(tmp_path, f"<transactions>\n{row}\n</transactions>\n")
    assert log.transactions == []
    assert len(log.problems) == 1
    assert ":2: this line is no row of <transactions>" in log.problems[0]


def test_crashed_log_has_no_transactions(tmp_path: Path) -> None:
    log = read_text(tmp_path, "[1:2:WARNING] x\nSegmentation fault (core dumped)\n")
    assert not log.transactions_seen
    assert log == PageLog()
    assert "<transactions>" not in format_log(log)


def test_truncated_log_keeps_its_rows_and_is_not_whole(tmp_path: Path) -> None:
    text = format_log(LOG)
    log = read_text(tmp_path, text[:text.index("12345.678") + 4])
    assert log.transactions == LOG.transactions[:1]
    assert log.transactions_seen
    assert not log.transactions_whole
    assert any("<transactions> has no end: the log stops at line 11" in problem for problem in log.problems)


@pytest.mark.parametrize("cut", ["http://a.test/old -> http://a.te", "http://a.test/old -> n"])
def test_the_row_in_which_a_log_stops_is_none(tmp_path: Path, cut: str) -> None:
    """It would lead to another host, or page, than the recorded one."""
    whole = "OK | text/css | | http://a.test/a.css -> nil"
    log = read_text(tmp_path, f"<responses>\n{whole}\nFound | | | {cut}")
    assert [response.url for response in log.responses] == ["http://a.test/a.css"]
    assert ":3: this line is no row of <responses>; skipped" in log.problems[1]


def test_unterminated_section_ends_where_the_next_begins(tmp_path: Path) -> None:
    log = read_text(tmp_path, format_log(LOG).replace("</resolves>\n", ""))
    assert log.resolves == LOG.resolves
    assert log.transactions == LOG.transactions
    assert [problem.partition("log:")[2] for problem in log.problems] == ["1: <resolves> has no end"]


def test_a_second_load_in_the_same_log_is_not_mixed_into_the_first(tmp_path: Path) -> None:
    log = read_text(tmp_path, format_log(LOG) * 2)
    assert log.transactions == LOG.transactions
    assert log.responses == LOG.responses
    assert len(log.problems) == 3
    assert "a second <transactions>; only the first is read" in log.problems[1]


LATE = """<stats>
t:tfo.page_load_timer:\t100
</stats>
<transactions>
   40.000 |   80.000 |   40.000 | http://a.test/
  139.000 |  500.000 |  361.000 | http://a.test/i.gif
   90.000 |   95.000 |    5.000 | http://a.test/poll
  400.000 |  450.000 |   50.000 | http://a.test/poll
  141.000 |  150.000 |    9.000 | http://a.test/beacon
</transactions>
"""
"""A page that loaded for 100 ms from its first request on."""


@pytest.mark.parametrize(("log", "late"), [(LATE, {"http://a.test/beacon"}), (LATE.replace("t:tfo", "t:other"), set()),
                                           (LATE + "<stats>\nt:tfo.page_load_timer: 1\n</stats>", {
                                               "http://a.test/beacon"}), (LATE.partition("<transactions>")[0], set())])
def test_what_came_after_the_load_event_of_2013(tmp_path: Path, log: str, late: set[str]) -> None:
    (tmp_path / "page").write_text(log)
    assert read_log(tmp_path / "page").urls_after_load() == late


def test_bytes_that_are_not_utf8_do_not_stop_the_reader(tmp_path: Path) -> None:
    log = read_text(tmp_path, "\udcff\udcfe\n" + format_log(LOG))
    assert log.transactions == LOG.transactions
    assert "not UTF-8 throughout" in log.problems[0]


def test_unsigned_error_codes_of_2013_are_read_as_chromes(tmp_path: Path) -> None:
    log = read_text(tmp_path, "<resolves>\n 1.0 | 2.0 | 1.0 | 4294966492 | p.example.org:443 ->  nil\n</resolves>\n")
    assert log.resolves == [Resolve(1.0, 2.0, -804, "p.example.org:443", "")]


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    assert read_text(tmp_path, format_log(LOG).replace("\n", "\r\n")) == LOG


def test_an_unreadable_log_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere:1: cannot be read"):
        read_log(tmp_path / "nowhere")


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
    resolves=st.lists(st.builds(lambda span, error, name, addresses: Resolve(span[0], span[1], error, name, addresses),
                                spans_ms, st.integers(-999, 999), st.sampled_from(["a.org:80", "b.org:443"]),
                                st.sampled_from(["", "10.0.0.1:8000", "10.0.0.1:80 [2400:cb00::1]:80"]))),
    transactions=st.lists(st.builds(lambda span, url: Transaction(span[0], span[1], url), spans_ms, urls)),
    responses=st.lists(st.builds(Response, columns, columns, columns, urls, redirects)),
    transactions_seen=st.just(True), transactions_whole=st.just(True))


@given(log=logs)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, log: PageLog) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip"
    path.write_text(format_log(log), encoding="utf-8")
    assert read_log(path) == log


@given(log=logs, cut=st.integers(0, 3000), noise=st.binary(max_size=40))
def test_no_cut_or_noise_raises(tmp_path_factory: pytest.TempPathFactory, log: PageLog, cut: int, noise: bytes) -> None:
    whole = format_log(log).encode()
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(whole[:cut] + noise)
    damaged = read_log(path)
    assert len(damaged.transactions) <= len(log.transactions) + 1
    assert damaged.transactions_seen or not damaged.transactions
