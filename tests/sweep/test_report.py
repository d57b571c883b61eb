"""What comes out of a sweep: the same loads in all tables, and a report in which no site's text or file does harm."""

import csv
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.files.pages import Page
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings
from harness.sweep.plan import Status, Unit
from harness.sweep.recordings import SiteRecording, recorded
from harness.sweep.report import write_outputs
from tests.support.client_folder import make_client
from tests.support.made_units import VERSIONS, outcome, unit

OPTIONS = ("--delays=10 100",)
EVIL, LAST = "http://evil.test/<script>alert(1)</script>", "http://last.test/"
GOOD, PARTLY, FAILED, NOT_UTF8, NEWER, NOTHING, INVALID, WITH_LOADS = range(4), *range(4, 11)
"""Sites by number. The last five have what a broken worker, or one that is not ours, may send."""
MEASURED = [*GOOD, PARTLY, NOT_UTF8]
Rows = dict[str, list[dict[str, str]]]
Report = tuple[str, Rows]
"""Its page, and the rows of sites.csv by their URLs."""


def add(folder: SweepFolder, of: Unit, status: Status = "measured", *why: str, delays: Sequence[float] = (10, 100),
        ) -> Path:
    """Keep a unit's outcome and, unless it failed, its loads; return its client folder, which tfo.py makes early."""
    folder.store(outcome(of, status, *why, by="lab1"), {"client/run.log": b"Chrome hangs\n"})
    client = folder.results(of.key) / "client"
    return client if status == "failed" else make_client(client, delays, [of.url])


def written(folder: SweepFolder, units: Sequence[Unit], *without: SiteRecording) -> Report:
    """Write all that comes out of these units and of pages `without` a recording; return the report, and the rows."""
    sites = [SiteRecording(Page(url, url), "digest") for url in dict.fromkeys(of.url for of in units)]
    options = tuple(dict.fromkeys(of.options for of in units))
    asked = SweepSettings(Path("List.pages"), options, VERSIONS, "<b>Tranco</b>")
    _, table, html = write_outputs(folder, asked, [*sites, *without], units)
    found: Rows = {}
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        found.setdefault(row["url"], []).append(row)
    return html.read_text(), found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SweepFolder:
    folder = SweepFolder(tmp_path_factory.mktemp("sweep"), "x")
    folder.make()
    return folder


@pytest.fixture(scope="module")
def made(folder: SweepFolder) -> Report:
    units = [unit(number, options=OPTIONS) for number in range(12)]
    for number in GOOD:
        add(folder, units[number])
    add(folder, units[PARTLY], "partly", "1 of 16 loads: SYN retransmitted")
    add(folder, units[FAILED], "failed", "<b>Chrome hangs</b>")
    make_client(add(folder, units[WITH_LOADS], "failed", "it hangs"), urls=[units[WITH_LOADS].url])
    not_utf8, newer, nothing, invalid = (add(folder, units[number]) for number in (NOT_UTF8, NEWER, NOTHING, INVALID))
    Path(os.fsdecode(os.fsencode(not_utf8 / "10-1-tfo-0") + b"/\xff.json")).write_text("{")
    next((newer / "10-1-tfo-0").glob("*.json")).write_text('{"format": 99}')
    shutil.rmtree(nothing)
    for path in invalid.glob("*-tfo-*/*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "valid": False, "why_not": ["SYN lost"]}))
    return written(folder, units, SiteRecording(Page(EVIL, "evil"), why_not="cannot be recorded: <i>gone</i>"),
                   recorded(folder, Page(LAST, "last")))


def test_every_load_is_in_the_table(folder: SweepFolder, made: Report) -> None:
    columns = pyarrow.parquet.read_table(folder.path / "loads.parquet").to_pydict()
    assert {url: columns["url"].count(url) for url in {*columns["url"]}} == {
        **{unit(number).url: 16 for number in (*MEASURED, INVALID, WITH_LOADS)}, r"\udcff": 1}, \
        "2 delays, 4 runs, 2 ways"
    assert set(columns["machine"]) == {"lab1"}
    assert columns["valid"].count(False) == 16 + 1
    assert min(filter(None, columns["plt_ms"])) > 1000


def test_every_site_is_a_row_for_each_rtt_with_its_reason(folder: SweepFolder, made: Report) -> None:
    """Spoiled loads ended the report in a traceback, or were "measured", without a number, and named nowhere."""
    html, found = made
    assert "\n".join(f"{url}: {', '.join(row['status'] for row in rows)}" for url, rows in found.items()) == f"""\
{EVIL}: failed
{LAST}: not measured yet
http://s0.test/: measured, measured
http://s1.test/: measured, measured
http://s2.test/: measured, measured
http://s3.test/: measured, measured
http://s4.test/: partly, partly
http://s5.test/: failed
http://s6.test/: measured, measured, measured, measured
http://s7.test/: failed
http://s8.test/: failed
http://s9.test/: measured, measured
http://s10.test/: failed, failed
http://s11.test/: not measured yet"""
    assert found[EVIL][0]["why"] == "cannot be recorded: <i>gone</i>"
    assert found[LAST][0]["why"] == "not recorded yet"
    assert found[unit(FAILED).url][0]["why"] == "<b>Chrome hangs</b>", "and not that there are no loads"
    failures = html[html.rindex("Not measured, or in part"):]
    for number in (NEWER, NOTHING):
        assert found[unit(number).url][0]["why"]
        assert unit(number).url in failures
    for row, rtt_ms in zip(found["http://s0.test/"], (20, 200), strict=True):
        # make_client: PLT is 1000 ms and 3 RTTs and the run's number, with TFO one RTT less; runs 1 to 3 count.
        off_ms = 1002 + 3 * rtt_ms
        assert (float(row["rtt_ms"]), float(row["median_off_ms"])) == (rtt_ms, off_ms)
        low, middle, high = (float(row[f"{name}_percent"]) for name in ("low", "improvement", "high"))
        assert low <= middle <= high
        assert middle == pytest.approx(100 * rtt_ms / off_ms, abs=0.001)


def test_each_site_that_has_a_number_counts_once(folder: SweepFolder, made: Report) -> None:
    """One none of whose loads count was one of the synthetic sites measured, and one of its machine's."""
    html, _ = made
    count = len(MEASURED)
    for said in (f"TCP Fast Open over {count} sites: x", f"lab1 ({count} sites)",
                 f"{count} of the measured sites are synthetic", "The list List.pages has 14 pages, 12 of which"):
        assert said in html
    assert re.search(rf'<th scope="row">20</th><td>{count}<td', html)
    low = 100 * 0.025 ** (1 / count)        # Clopper and Pearson's, where all are faster
    assert html.count(f"100.0% ({low:.1f}% to 100.0%) of {count}<td") == 2, "at both RTTs"


def test_the_report_is_one_file_in_which_no_text_is_run(folder: SweepFolder, made: Report) -> None:
    html, _ = made
    assert html.count("<script") == 1
    for said in ("http://evil.test/&lt;script&gt;", "&lt;b&gt;Chrome hangs&lt;/b&gt;",
                 "It is a sample of: &lt;b&gt;Tranco&lt;/b&gt;."):
        assert said in html
    assert not re.findall(r'(?:src|href)="(?!data:,|#|waterfalls/)', html)
    links = re.findall(r'href="(waterfalls/[^"]+)"', html)
    assert [*map(Path.is_file, map(folder.path.joinpath, links))] == [True] * len(MEASURED)


def test_a_grid_is_told_apart_by_its_settings(tmp_path: Path) -> None:
    """A site is measured under each combination: it counts once in each, at its RTTs, and has a waterfall for each."""
    folder = SweepFolder(tmp_path, "x")
    folder.make()
    units = [unit(number, options=options) for options in (("--http=1.0",), ("--delayhome=20",)) for number in range(2)]
    for of, status, delay_ms in zip(units, ("measured", "measured", "partly"), (10, 10, 30), strict=False):
        add(folder, of, status, delays=(delay_ms,))     # type: ignore[arg-type]
    add(folder, units[3], "failed", "it hangs")
    html, _ = written(folder, units)
    for said in ("TCP Fast Open over 2 sites: x", "2 of the measured sites are synthetic", "lab1 (2 sites)",
                 *(f'<a href="waterfalls/{of.key}.html">{of.url}</a>' for of in units[:3])):
        assert said in html
    assert re.findall(r'<th scope="row">(\d+)</th><td>(\d)<td', html) == [("20", "2"), ("60", "1")]
    failures = html[html.rindex("Not measured, or in part"):]
    assert "<caption>Sites: 2</caption>" in failures
    assert re.findall(r">(--delayhome=20)<td[^>]*>(\w+)<td", failures) == [("--delayhome=20", "partly"),
                                                                               ("--delayhome=20", "failed")]
