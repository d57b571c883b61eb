"""report.html: what its sections hold, and that parts that are missing say so. In a browser: test_report_chrome.py."""

from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

import pytest

from harness.analysis.selection import Selection
from harness.files.results import attempt_directory
from harness.show.console import main_table, summary_lines
from harness.show.report import render, sections
from harness.show.section import Chart, Section, Table
from tests.support.client_folder import NEWS, add_load, make_client, selected
from tests.support.report_folder import ERROR, EVIL, MEASURED, WIKI, make_report_folder


def rows_of(parts: Sequence[Section | Table | Chart]) -> Iterator[str]:
    """Give the rows of all tables, cells apart with a bar, and the headings over them."""
    for part in parts:
        if isinstance(part, Section):
            yield from rows_of(part.parts)
            continue
        for heading, rows in (part.table if isinstance(part, Chart) else part).groups:
            yield from [heading] if heading else []
            yield from map("|".join, rows)


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> Selection:
    return selected(make_report_folder(tmp_path_factory.mktemp("report") / "client"))


def test_the_page_has_the_consoles_table_and_lines_and_is_the_same_each_time(selection: Selection) -> None:
    html, lines = render(selection), [*main_table(selection)][1:]
    assert "default-src 'none'; script-src 'sha256-" in unescape(html)
    assert render(selected(selection.results.clientdir)) == html
    assert [*rows_of(sections(selection)[0].parts[:1])] == [
        selection.results.urls.get(line, line.strip().replace("\t", "|")) for line in lines]
    assert all(f">{line}</p>" in html for line in summary_lines(selection) if "'" not in line)
    for caption in ("Improvement of PLT", "Time on the critical path of", "PLT with TFO, predicted"):
        assert f"<caption>{caption}" in html


def test_the_tables_say_all_that_is_known_of_each_request_and_the_proof(selection: Selection) -> None:
    """That bars of the figures name the requests' rows: test_report_chrome.py."""
    rows = [*rows_of(sections(selection))]

    def under(title: str) -> list[str]:
        place = rows.index(title) + 1
        return rows[place:place + 2]

    # blocked, dns, connect (one RTT, which TFO saves), tls, send, wait, receive
    assert under(f"1. {WIKI}") == ["TFO off|4|1|0|101|0|0|101|445|652|163,081|200 OK|42",
                                   "TFO on|2|1|0|3|0|0|101|446|553|163,081|200 OK|42"]
    connect_and_tls = "|1000|1|0|20|10|0|15|4|1050|7|"                      # of a HAR's connect of 30 ms with ssl
    assert under(f"2. {EVIL}/1") == [
        f"{name}{connect_and_tls}200 <b>OK</b>, answered by a stand-in|<u>1</u>" for name in ("TFO off", "TFO on")]
    assert under(f"5. {EVIL}/4")[0] == f"TFO off|4000|1|0|20|10|0|15|4|4050|7|200 <b>OK</b>, {ERROR}, failed|<u>4</u>"
    assert {"100 ms, TFO off|3|87|0|0|0|0|0|0|0", "100 ms, TFO on|3|87|87|0|0|0|0|0|0"} <= {*rows}
    assert any(EVIL in row and "SYN retransmitted by <b>user</b>: 1" in row for row in rows)


def test_each_load_that_does_not_count_is_a_row(tmp_path: Path) -> None:
    """A refused one, a try that was made again, another experiment's. Settings tell the RTTs that have them."""
    client = make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2, id="newer",
                         server_rtts_ms={"a.test": 10, "b.test": 30})
    for run, tfo in ((0, 0), (1, 0), (1, 1)):
        add_load(client, NEWS, 10, run, tfo, 1000, experiment="newer")
    add_load(client, NEWS, 10, 3, 0, None, valid=False, why_not=["timed out"], experiment="newer")
    made = add_load(tmp_path / "first", NEWS, 10, 1, 0, 9000, why_not=["SYN retransmitted: 2"], experiment="newer")
    made.parent.rename(attempt_directory(client / made.parent.name, 1))
    make_client(client, delays_ms=[50], urls=[NEWS], runs=2, cookies="cold", buffer_kb=128.0, think=None)
    har = client / "10-1-tfo-0" / "httpwww.news.example.har"
    har.write_text("{")
    rows = [*rows_of(sections(selected(client)))]
    assert any(row.startswith(f"{har}:1: cannot be read") for row in rows)
    assert {"http|1.0", "synthetic|yes", "buffer_kb|RTT 100 ms: 128", "think|RTT 100 ms: -", "cookies|RTT 100 ms: cold",
            } <= {*rows}
    place = f"{NEWS}|recorded 10-30|"
    assert {f"{place}1|off|SYN retransmitted: 2 (made again)", f"{place}3|off|timed out"} <= {*rows}
    assert sum(row.startswith(f"{place}0 (warm-up)|on|of another, earlier") for row in rows) == 1


def test_what_is_missing_leaves_a_report(tmp_path: Path) -> None:
    """Logs of 2013, which have no HAR; and a page of which one load alone, without TFO, is there."""
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    for client, row, charts in ((MEASURED.parents[1] / "2013", "20</th><td>0.339<td>0.296<td>12.85%", 7),
                                (tmp_path, "20</th><td>1.000<td>-<td>-", 1)):
        html = render(selected(client))
        assert f'<tr><th scope="row">{row}<' in html
        assert ("metric &#34;last&#34;" in html) == (client != tmp_path)
        assert html.count('<div class="chart">') == charts
