"""report.html as text: what it holds, that hostile input stays text, and that parts that are missing say so."""

import base64
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.selection import Selection
from harness.analysis.shown import PHASES
from harness.errors import InputError
from harness.files.results import attempt_directory
from harness.show.console import main_table, summary_lines
from harness.show.report import write_report
from harness.show.report.evidence import environment_section
from harness.show.section import Table
from tests.support.client_folder import NEWS, add_load, make_client, selected
from tests.support.report_folder import ERROR, EVIL, WIKI, make_report_folder

ROOT = Path(__file__).resolve().parent.parent.parent


class Page(HTMLParser):
    """The report taken apart: every element's attributes, every cell's and heading's text, every script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.path: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("td", "tr"):
            self._end_before("td" if tag == "td" else "tr", "tbody")
        if tag not in ("meta", "link"):
            self.path.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "tbody":
            self._end_before("tr", "tbody")
        self._end(tag)      # nothing in the report is left open or closed twice

    def _end_before(self, ended: str, within: str) -> None:
        """End what HTML lets one leave open, a cell before the next one and a row before the next one."""
        while self.path[-1] in ("td", "tr") and ended in self.path[-2:] and within in self.path:
            self._end(self.path[-1])

    def _end(self, tag: str) -> None:
        assert self.path.pop() == tag
        if tag in ("td", "th"):
            self.texts["tr"][-1] += "|"

    def handle_data(self, data: str) -> None:
        for tag in set(self.path):
            self.texts[tag][-1] += data

    def rows(self) -> list[str]:
        """Every table's rows, cells apart with a bar."""
        return [row.rstrip("|") for row in self.texts["tr"]]


def report_of(clientdir: Path, path: Path) -> tuple[str, Selection]:
    selection = selected(clientdir)
    assert write_report(selection, path) == path
    return path.read_text(encoding="utf-8"), selection


def without_scripts(html: str) -> str:
    return re.sub(r"<script>.*?</script>", "<script></script>", html, flags=re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report_folder(tmp_path_factory.mktemp("report") / "client")


@pytest.fixture(scope="module")
def report(folder: Path) -> tuple[str, Selection]:
    return report_of(folder, folder.parent / "figures" / "report.html")


@pytest.fixture(scope="module")
def page(report: tuple[str, Selection]) -> Page:
    return Page(report[0])


def test_the_table_is_the_consoles(report: tuple[str, Selection], page: Page) -> None:
    _, selection = report
    cells = "".join(page.texts["table"][0].split())
    header, *lines = main_table(selection)
    wanted = header.split("\t")[1:] + [selection.results.urls.get(line, line) for line in lines]
    assert cells.endswith("".join("".join(wanted).split()))
    assert {*summary_lines(selection)} <= {*page.texts["p"]}


def test_every_table_has_a_caption_and_heads(page: Page) -> None:
    tables = [tag for tag, _ in page.elements if tag == "table"]
    assert len(page.texts["caption"]) == len(tables) > 10
    scopes = {attributes.get("scope") for tag, attributes in page.elements if tag == "th"}
    assert scopes == {"col", "row", "rowgroup"}


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"]) for tag, attributes in page.elements if tag == "a"]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_nothing_is_fetched(report: tuple[str, Selection], page: Page) -> None:
    sources = [value for tag, attributes in page.elements for name, value in attributes.items()
               if name in ("src", "srcset", "data", "action", "poster") or (name == "href" and tag == "link")]
    assert sources == ["data:,"]                                            # the icon: none
    assert not re.search(r"@import|url\(", page.texts["style"][0])
    policy = next(str(attributes["content"]) for tag, attributes in page.elements
                  if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy
    script, = page.texts["script"]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_hostile_names_stay_text(report: tuple[str, Selection], page: Page) -> None:
    html = without_scripts(report[0])
    assert "pwned" in html
    for word in ("<script>window", "<img", "<b>", "<i>", "<u>"):
        assert word not in html
    assert len(page.texts["script"]) == 1
    assert f"2. {EVIL}/1" in page.rows()                                    # and nothing of it is lost
    assert EVIL in page.texts["h3"]


def test_each_bar_has_the_row_of_its_request(page: Page) -> None:
    """The figures' bars name rows of the tables beside them: all that a HAR says of a request."""
    bars = Counter(str(attributes["data-bar"]) for _, attributes in page.elements if "data-bar" in attributes)
    assert bars["28"] == 2 * 2                                              # of the last of 29, at 2 RTTs, off and on
    assert "29" not in bars
    rows = page.rows()
    place = rows.index(f"1. {WIKI}")
    off, on = (row.split("|") for row in rows[place + 1:place + 3])
    connect = 2 + [*PHASES].index("connect")
    assert (off[0], on[0]) == ("TFO off", "TFO on")
    assert float(off[connect]) >= 100                                       # one RTT, which TFO saves
    assert float(on[connect]) < 5
    assert sum(map(float, off[2:2 + len(PHASES)])) == pytest.approx(float(off[2 + len(PHASES)]) - float(off[1]), abs=5)
    evil = rows[rows.index(f"5. {EVIL}/4") + 1].split("|")
    assert [evil[2:9], evil[10:]] == [["1", "0", "20", "10", "0", "15", "4"],          # connect includes ssl
                                      ["7", f"200 <b>OK</b>, {ERROR}, failed", "<u>4</u>"]]
    assert "answered by a stand-in" in rows[rows.index(f"2. {EVIL}/1") + 1]


def test_proof_and_what_was_left_out(page: Page) -> None:
    rows = page.rows()
    assert "100 ms, TFO off|3|0.0%|87|0|0|0|0|0|0|0" in rows
    assert "100 ms, TFO on|3|100.0%|87|87|0|0|0|0|0|0" in rows
    assert any(EVIL in row and "SYN retransmitted by <b>user</b>: 1" in row for row in rows)


def test_almost_all_syns_with_data_are_not_all(tmp_path: Path) -> None:
    """A load counts with 99% of them: of 2040 connections 2039 were "100.0%"."""
    client = make_client(tmp_path / "client", delays_ms=[50], urls=[NEWS], runs=0)
    for run in range(1, 11):
        add_load(client, NEWS, 50, run, 1, 1000, connections_with_request=204, syn_data_connections=204 - (run == 1))
    rows = Page(report_of(client, tmp_path / "report.html")[0]).rows()
    assert any(row.startswith("100 ms, TFO on|10|over 99.9%|2,040|2,039|") for row in rows)


def settings(client: Path) -> dict[str, str]:
    [table] = environment_section(selected(client).results).parts
    assert isinstance(table, Table)
    return {row[0]: row[1] for _, rows in table.groups for row in rows}


@pytest.mark.parametrize(("option", "value", "said"), [
    ("http", "1.0", "1.0"), ("synthetic", True, "yes"), ("connections_per_host", 12, "12"), ("buffer_kb", 128.0, "128"),
    ("think", None, "-")])
def test_settings_have_the_names_of_the_experiments_file(tmp_path: Path, option: str, value: object, said: str) -> None:
    assert settings(make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=1, **{option: value}))[option] == said


def test_a_setting_of_some_rtts_only_is_said_with_them(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10, 50], urls=[NEWS], runs=1, synthetic=False)
    make_client(client, delays_ms=[100], urls=[NEWS], runs=1, cookies="cold", synthetic=False)
    found = settings(client)
    assert found["cookies"] == "RTT 200 ms: cold"
    assert "\n" not in found["http"]


def test_improvement_breakdown_and_prediction(page: Page) -> None:
    captions = page.texts["caption"]
    assert len([caption for caption in captions if caption.startswith("Improvement of PLT")]) == 1
    assert len([caption for caption in captions if caption.startswith("Time on the critical path of")]) == 2
    assert any("Predicted (s)" in table for table in page.texts["table"])


def test_the_same_results_give_the_same_bytes(folder: Path, report: tuple[str, Selection], tmp_path: Path) -> None:
    assert report_of(folder, tmp_path / "again.html")[0] == report[0]


def test_each_load_that_does_not_count_is_a_row(tmp_path: Path) -> None:
    """A refused one, a try that was made again, and those of another experiment."""
    client = make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2, id="newer",
                         server_rtts_ms={"a.test": 10, "b.test": 30})
    for run, tfo in ((0, 0), (1, 0), (1, 1)):
        add_load(client, NEWS, 10, run, tfo, 1000, experiment="newer")
    add_load(client, NEWS, 10, 3, 0, None, valid=False, why_not=["timed out"], experiment="newer")
    made = add_load(tmp_path / "first", NEWS, 10, 1, 0, 9000, valid=False, why_not=["SYN retransmitted: 2"],
                    experiment="newer")
    made.parent.rename(attempt_directory(client / made.parent.name, 1))
    rows = Page(report_of(client, tmp_path / "report.html")[0]).rows()
    assert f"{NEWS}|recorded 10-30|1|off|SYN retransmitted: 2 (made again)" in rows
    assert f"{NEWS}|recorded 10-30|3|off|timed out" in rows
    assert sum(row.startswith(f"{NEWS}|recorded 10-30|0 (warm-up)|on|of another, earlier") for row in rows) == 1


def make_odd(client: Path) -> None:
    """HARs and an experiment's file that hold something else."""
    changes: dict[str, Any] = {
        "began_s": 1e300, "environment": None, "failed_requests": {}, "counters": {}, "connections_with_request": None}
    for tfo, entry in enumerate([{"timings": {"wait": {}, "connect": "1", "ssl": None}, "request": []},
                                 {"request": {"url": f"{NEWS}/"}, "response": 4, "startedDateTime": "now"}]):
        path = add_load(client, NEWS, 10, 1, tfo, 1000, **changes)
        path.with_suffix(".har").write_text(json.dumps({"log": {"entries": [entry]}}), encoding="utf-8")
    (client / "experiment-10.json").write_text(
        json.dumps({"format": 1, "pages": [NEWS], "sysctls": 1, "measured_rtt_ms": {"a": "b"}}), encoding="utf-8")


def make_one_sided(client: Path) -> None:
    path = add_load(client, NEWS, 10, 1, 0, 1000)
    path.with_suffix(".har").write_text("{", encoding="utf-8")
    add_load(client, NEWS, 10, 2, 0, 1100)


def make_uncounted(client: Path) -> None:
    add_load(client, NEWS, 10, 1, 0, None, valid=False, why_not=["timed out after 60 s"])


@pytest.mark.parametrize(("make", "row", "charts"), [
    (lambda client: shutil.copytree(ROOT / "tests" / "data" / "2013", client), "20|0.339|0.296|12.85%", 7),
    (make_one_sided, "20|1.050|-|-", 1), (make_odd, "20|1.000|1.000|0.00%", 2), (make_uncounted, "20|-|-|-", 0)])
def test_what_is_missing_leaves_a_report(tmp_path: Path, make: Callable[[Path], object], row: str, charts: int) -> None:
    make(tmp_path / "client")
    page = Page(report_of(tmp_path / "client", tmp_path / "report.html")[0])
    assert row in page.rows()
    assert sum(attributes.get("class") == "chart" for _, attributes in page.elements) == charts


def test_a_report_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    selection = selected(make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS], runs=2))
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        write_report(selection, tmp_path / "file" / "report.html")
