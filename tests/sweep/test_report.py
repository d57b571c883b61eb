"""What comes out of a sweep: the same loads in all tables, and a report in which no site's text does harm."""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.files.pages import Page
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings
from harness.sweep.plan import FILE, UnitOutcome
from harness.sweep.recordings import SiteRecording, recorded
from harness.sweep.report import write_outputs
from tests.support.client_folder import make_client
from tests.support.made_units import VERSIONS, outcome, unit

OPTIONS = ("--delays=10 100",)
EVIL = "http://evil.test/<script>alert(1)</script>"


class Sweep:
    """A folder with six sites that were measured, one of them twice, one in part, and one that failed."""

    def __init__(self, path: Path) -> None:
        self.folder = SweepFolder(path, "x")
        self.folder.make()
        self.asked = SweepSettings(path / "List.pages", (OPTIONS,), VERSIONS, "<b>Tranco</b>")
        units = [unit(number, options=OPTIONS) for number in range(8)]
        self.units = units
        for made in units[:6]:
            self.add(outcome(made, by="lab1"), made.url)
        self.add(outcome(units[6], "partly", "1 of 16 loads: SYN retransmitted", by="lab1"), units[6].url)
        self.add(outcome(units[7], "failed", "<b>Chrome hangs</b>", by="lab1"), "")
        gone = Page(EVIL, "evil")
        self.sites = [SiteRecording(Page(made.url, f"p{place}"), path, "digest") for place, made in enumerate(units)]
        self.sites.append(SiteRecording(gone, path, why_not="cannot be recorded: <i>gone</i>"))

    def written(self) -> str:
        """Write all that comes out; return the report."""
        write_outputs(self.folder, self.asked, self.sites, self.units)
        return (self.folder.path / "report.html").read_text()

    def rows(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of sites.csv by their URLs."""
        found: dict[str, list[dict[str, str]]] = {}
        with (self.folder.path / "sites.csv").open(newline="", encoding="utf-8") as table:
            for row in csv.DictReader(table):
                found.setdefault(row["url"], []).append(row)
        return found

    def add(self, of: UnitOutcome, url: str) -> None:
        folder = self.folder.results(of.key)
        folder.mkdir()
        (folder / FILE).write_text(of.to_json())
        if url:
            make_client(folder / "client", (10, 100), [url])
        else:           # tfo.py makes it before it measures
            (folder / "client").mkdir()
            (folder / "client" / "run.log").write_text("Chrome hangs\n")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    made = Sweep(tmp_path_factory.mktemp("sweep"))
    paths = write_outputs(made.folder, made.asked, made.sites, made.units)
    assert [path.name for path in paths] == ["loads.parquet", "sites.csv", "report.html"]
    return made


def test_every_load_is_in_the_table(sweep: Sweep) -> None:
    columns = pyarrow.parquet.read_table(sweep.folder.path / "loads.parquet").to_pydict()
    assert len(columns["plt_ms"]) == 7 * 16, "seven measurements of 2 delays, 4 runs, without and with TFO"
    assert set(columns["url"]) == {made.url for made in sweep.units[:7]}
    assert set(columns["machine"]) == {"lab1"}
    assert set(columns["valid"]) == {True}
    assert min(columns["plt_ms"]) > 1000


def test_every_site_is_a_row_for_each_rtt_with_its_reason(sweep: Sweep) -> None:
    found = sweep.rows()
    assert {url: [row["status"] for row in rows] for url, rows in found.items()} == {
        **{made.url: ["measured"] * 2 for made in sweep.units[:6]}, sweep.units[6].url: ["partly"] * 2,
        sweep.units[7].url: ["failed"], EVIL: ["failed"]}
    assert found[EVIL][0]["why"] == "cannot be recorded: <i>gone</i>"
    assert found[sweep.units[7].url][0]["why"] == "<b>Chrome hangs</b>", "and not that there are no loads"
    for row, rtt_ms in zip(found["http://s0.test/"], (20, 200), strict=True):
        # make_client: PLT is 1000 ms and 3 RTTs and the run's number, with TFO one RTT less; runs 1 to 3 count.
        off_ms = 1002 + 3 * rtt_ms
        assert (float(row["rtt_ms"]), float(row["median_off_ms"])) == (rtt_ms, off_ms)
        low, middle, high = (float(row[f"{name}_percent"]) for name in ("low", "improvement", "high"))
        assert low <= middle <= high
        assert middle == pytest.approx(100 * rtt_ms / off_ms, abs=0.001)


def test_each_site_counts_once(sweep: Sweep) -> None:
    html = (sweep.folder.path / "report.html").read_text()
    assert "TCP Fast Open over 7 sites: x" in html
    assert "lab1 (7 sites)" in html
    assert re.search(r'<th scope="row">20</th><td>7<td>', html)
    assert html.count("100.0% (59.0% to 100.0%) of 7<td>") == 2, "at both RTTs"


def test_the_report_is_one_file_in_which_no_text_is_run(sweep: Sweep) -> None:
    html = (sweep.folder.path / "report.html").read_text()
    assert html.count("<script") == 1
    assert "http://evil.test/&lt;script&gt;" in html
    assert "&lt;b&gt;Chrome hangs&lt;/b&gt;" in html
    assert not re.findall(r'(?:src|href)="(?!data:,|#|waterfalls/)', html)
    links = re.findall(r'href="(waterfalls/[^"]+)"', html)
    assert links
    assert all((sweep.folder.path / link).is_file() for link in links)
    assert "The list List.pages has 9 pages, 8 of which have a recording." in html
    assert "It is a sample of: &lt;b&gt;Tranco&lt;/b&gt;." in html


def test_what_an_unfinished_sweep_has_not_come_to_is_a_row_too(tmp_path: Path) -> None:
    made = Sweep(tmp_path)
    later = unit(8, options=OPTIONS)
    pages = [*(site.page.url for site in made.sites), later.url, "http://last.test/"]
    waiting = [SiteRecording(Page(later.url, "p8"), tmp_path, "digest"),
               recorded(made.folder, Page("http://last.test/", "last"))]
    made.sites, made.units = [*made.sites, *waiting], [*made.units, later]
    html, rows = made.written(), made.rows()
    assert set(rows) == set(pages)
    assert [(row["status"], row["why"], row["key"]) for url in pages[-2:] for row in rows[url]] == [
        ("not measured yet", "", later.key), ("not measured yet", "not recorded yet", "")]
    assert html.count(">not measured yet<td") == 2


def test_a_grid_is_told_apart_by_its_settings(tmp_path: Path) -> None:
    """A site is measured under each combination: it counts once in each, at its RTTs, and has a waterfall for each."""
    made = Sweep.__new__(Sweep)
    made.folder = SweepFolder(tmp_path, "grid")
    made.folder.make()
    both = (("--http=1.0",), ("--delayhome=20",))
    units = [unit(number, options=options) for options in both for number in range(2)]
    for of, rtt_ms in zip(units[:3], (20, 20, 60), strict=True):
        made.add(outcome(of, "partly" if of is units[2] else "measured", by="lab1"), "")
        make_client(made.folder.results(of.key) / "client", (rtt_ms / 2,), [of.url])
    made.add(outcome(units[3], "failed", "it hangs", by="lab1"), "")
    made.sites = [SiteRecording(Page(of.url, f"p{place}"), tmp_path, "digest") for place, of in enumerate(units[:2])]
    made.units, made.asked = units, SweepSettings(tmp_path / "L.pages", both, VERSIONS)
    html = made.written()
    for said in ("TCP Fast Open over 2 sites: grid", "2 of the measured sites are synthetic", "lab1 (2 sites)",
                 *(f'<a href="waterfalls/{of.key}.html">{of.url}</a>' for of in units[:3])):
        assert said in html
    assert re.findall(r'<th scope="row">(\d+)</th><td>(\d)<td>', html) == [("20", "2"), ("60", "1")]
    failures = html[html.rindex("Not measured, or in part"):]
    assert "<caption>Sites: 2</caption>" in failures
    assert re.findall(r">(--delayhome=20)<td[^>]*>(\w+)<td", failures) == [("--delayhome=20", "partly"),
                                                                               ("--delayhome=20", "failed")]


SPOILED = {"a name that is no UTF-8": True, "a newer format": False, "nothing": False}
"""What a worker that is broken, or not ours, may send, and whether the site counts all the same."""


def spoil(client: Path, how: str) -> None:
    first = next((client / "10-1-tfo-0").glob("*.json"))
    if how == "a name that is no UTF-8":
        Path(os.fsdecode(os.fsencode(first.parent) + b"/\xff.json")).write_text("{")
    elif how == "a newer format":
        first.write_text('{"format": 99}')
    else:
        shutil.rmtree(client)


def test_spoiled_loads_of_some_sites_leave_the_others_their_report(tmp_path: Path) -> None:
    """Some ended the report in a traceback; others were "measured", without a number, and named nowhere.

    A site none of whose loads count was one of the synthetic sites measured, and one of its machine's.
    """
    made = Sweep(tmp_path)
    for of, how in zip(made.units, SPOILED, strict=False):
        spoil(made.folder.results(of.key) / "client", how)
    for of in made.units[6:]:
        client = make_client(made.folder.results(of.key) / "client", (10, 100), [of.url])
        for path in client.glob("*-tfo-*/*.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "valid": False, "why_not": ["SYN lost"]}))
    html, rows = made.written(), made.rows()
    failures = html[html.rindex("Not measured, or in part"):]
    for of, (how, counts) in zip(made.units, SPOILED.items(), strict=False):
        row = rows[of.url][0]
        assert (row["status"] == "measured", not row["why"], of.url not in failures) == (counts,) * 3, how
    for said in ("TCP Fast Open over 4 sites: x", "4 of the measured sites are synthetic", "lab1 (4 sites)"):
        assert said in html
    tables = pyarrow.parquet.read_table(made.folder.path / "loads.parquet")
    assert set(tables["url"].to_pylist()) >= {of.url for of in made.units[5:]}
