"""Client folders: names, writing, reading, and which loads count."""

import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.selection import select
from harness.errors import InputError
from harness.files.experiment import write_experiment
from harness.files.results import attempt_directory, cell_directory, parse_cell_directory, read_results, write_load
from harness.system.atomic import write_atomically, written_beside
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.made_record import made_record

OLD = Path(__file__).parent.parent / "data" / "2013"
NEWS_PAGE, POST_PAGE = "httpwww.news.example", "httpblog.example2013post"


@given(delaynet_ms=st.floats(0, 1e9).map(lambda delay_ms: float(f"{delay_ms:g}")), run=st.integers(0, 10**6),
       tfo=st.sampled_from([0, 1]))
def test_directory_names_read_back(delaynet_ms: float, run: int, tfo: int) -> None:
    assert parse_cell_directory(cell_directory(delaynet_ms, run, tfo)) == (delaynet_ms, run, tfo)


@pytest.mark.parametrize("old", [False, True])
def test_a_run_that_somebody_else_keeps_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *,
                                                        old: bool) -> None:
    closed = make_client(tmp_path) / "10-1-tfo-0"
    if old:
        for record in tmp_path.rglob("*.json"):
            record.unlink()
    listed = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:      # root, as whom tests run, may read everything
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(InputError, match=rf"^{closed}:1: cannot be read \(Permission denied\); is it yours\?$"):
        read_results(tmp_path)


@pytest.mark.parametrize(("change", "problem"), [
    ({"run": 7}, "its run is 7, its place says 1"), ({"tfo": 1}, "its tfo is 1"), ({"page": "x"}, "its page is 'x'"),
    ({"delaynet_ms": 50}, "its delaynet_ms is 50.0, its place says 10.0"),
    ({"plt_ms": True}, "plt_ms: expected float or null, got bool"), ({"format": 0}, "no format version")])
def test_a_json_that_contradicts_itself_does_not_count(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    path = client / "10-1-tfo-0" / f"{NEWS_PAGE}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    left_out = select(read_results(client), "load").left_out
    assert len(left_out) == 1
    assert problem in left_out[0][1]


def test_newer_formats_are_refused(tmp_path: Path) -> None:
    client = make_client(tmp_path)
    (client / "10-1-tfo-0" / f"{NEWS_PAGE}.json").write_text('{"format": 3}')
    with pytest.raises(InputError, match=r"news\.example\.json:1: .*\(format 3 is newer than the 2 known here; update"):
        read_results(client)
    add_load(client, NEWS, 10, 1, 0, 1000)
    write_experiment(client, 10, {"format": 4})
    with pytest.raises(InputError, match=r"experiment-10\.json:1: .*\(format 4 is newer"):
        read_results(client)


def test_a_broken_experiment_file_is_a_problem_not_a_traceback(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10])
    (client / "experiment-10.json").write_text("[]")
    (client / "experiment-nan.json").write_text('{"format": 1, "pages": []}')
    results = read_results(client)
    assert [problem.removeprefix(str(client)) for problem in results.problems] == [
        "/experiment-10.json:1: cannot be read (no format version; not a file of this tool)",
        "/experiment-nan.json:1: cannot be read (its name gives no delay)"]
    assert sorted(results.urls.values()) == sorted([NEWS, POST])      # from the loads
    assert results.rtts_ms == [20]


RECORDED: dict[str, Any] = {"rtt": "recorded", "server_rtts_ms": {"a.test": 12, "b.test": 40, "c.test": 180.4}}


def test_rtts_as_recorded_have_a_name(tmp_path: Path) -> None:
    make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    results = read_results(make_client(tmp_path, delays_ms=[20], urls=[NEWS], **RECORDED))
    assert results.rtts_ms == [20, 40]
    assert results.rtt_names == {40: "recorded 12-180"}


@pytest.mark.parametrize("settings", [RECORDED, {"delayhome_ms": 0, "bw_net_mbit": 1}])
def test_two_experiments_stand_in_no_row_together(tmp_path: Path, settings: dict[str, Any]) -> None:
    """At 30 ms by both links, and at 30 ms by one, or at a median of 30 ms: one would be taken for the other."""
    make_client(tmp_path, delays_ms=[10], urls=[NEWS], rtt_ms=30, delayhome_ms=5)
    make_client(tmp_path, delays_ms=[15], urls=[NEWS], **settings)
    with pytest.raises(InputError, match=r"experiment-15\.json:1: its RTT, 30 ms, is that of experiment-10\.json too, "
                       r"and one row of the table cannot hold two experiments; move that file and its loads, 10-\*"):
        read_results(tmp_path)


def test_what_was_asked_for_is_missing_even_when_no_load_of_it_left_a_file(tmp_path: Path) -> None:
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    assert select(read_results(tmp_path), "load").missing == []
    write_experiment(tmp_path, 10, {"pages": [NEWS], "rtt_ms": 20, "tfo": "0"})
    assert select(read_results(tmp_path), "load").missing == []
    write_experiment(tmp_path, 10, {"pages": [NEWS], "rtt_ms": 20, "tfo": "both"})
    assert [(cell.page, cell.rtt_ms, cell.transport) for cell in select(read_results(tmp_path), "load").missing] == [
        (NEWS_PAGE, 20, 1)]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        read_results(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "10-0-tfo-0").mkdir()
    with pytest.raises(InputError, match="no page loads in it"):
        read_results(tmp_path)


@pytest.mark.parametrize("name", [f"{NEWS_PAGE}.json~", f"#{NEWS_PAGE}.json#", f".{NEWS_PAGE}.swp"])
def test_what_an_editor_leaves_is_no_load(name: str, tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    (client / "10-1-tfo-0" / name).write_text("as it was before")
    assert list(read_results(client).urls) == [NEWS_PAGE]


def test_old_logs(tmp_path: Path) -> None:
    results = read_results(OLD)
    assert results.old
    assert list(results.urls.values()) == ["http://blog.example/2013/post.html", "http://www.news.example/",
                                           "http://www.shop.example/"]
    selection = select(results, "load")
    assert selection.metric == "last"
    reasons = {str(load.log.relative_to(OLD)): reason for load, reason in selection.left_out}
    assert reasons == {
        "50-1-tfo-1/httpwww.news.example": "truncated: <transactions> has no end",
        "10-0-tfo-0/httpwww.shop.example": 'the page itself was answered "file not found"; '
                                           "only 1 request: nothing but the document was loaded",
        "50-0-tfo-0/httpwww.shop.example": "no <transactions>: the browser crashed"}
    assert len(results.problems) == 5
    assert all(any(known in problem for known in ("no row of", "has no end", "not UTF-8"))
               for problem in results.problems)


def test_old_cells_use_run_0_only_when_there_is_no_other(tmp_path: Path) -> None:
    log = (OLD / "10-1-tfo-1" / NEWS_PAGE).read_bytes()
    for name in ("10-0-tfo-0", "10-0-tfo-1", "10-1-tfo-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / NEWS_PAGE).write_bytes(log)
    selection = select(read_results(tmp_path), "last")
    assert {(cell.transport, load.run) for cell in selection.cells for load in cell.loads} == {(0, 0), (1, 1)}
    assert [(cell.transport, cell.cold) for cell in selection.cells] == [(0, True), (1, False)]


def write_half(path: Path) -> None:
    with written_beside(path) as beside:
        beside.write_text("half")
        raise RuntimeError


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)       # a page's file name may be nearly as long as names can be
    write_atomically(path, "first")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_load(tmp_path, replace(made_record(page="y"), plt_ms=float("nan")))
    assert not (tmp_path / "y.json").exists()


def add_older_run(client: Path, experiment: str | None, began_s: float, runs: int = 4) -> None:
    for run in range(runs):
        for tfo in (0, 1):
            add_load(client, NEWS, 10, run, tfo, 400, experiment=experiment, began_s=began_s + run)


@pytest.mark.parametrize("older", [None, "older"])
def test_a_shorter_run_over_an_older_one_is_not_mixed_with_it(tmp_path: Path, older: str | None) -> None:
    """tfo.py by hand: --testruns 4 --http 1.0, then --testruns 2 --http 1.1 gave a cell of [400, 1062, 1063] ms."""
    add_older_run(tmp_path, older, 1000)
    write_experiment(tmp_path, 10, {"id": "newer", "pages": [NEWS], "rtt_ms": 20, "http": "1.1", "tfo": "both"})
    for run in range(2):
        for tfo in (0, 1):
            add_load(tmp_path, NEWS, 10, run, tfo, 1062, experiment="newer", began_s=2000)
    results = read_results(tmp_path)
    assert select(results, "load").by_place[NEWS_PAGE, 20].off.plts_ms == [1062]
    assert [(load.run, load.tfo) for load in results.others] == [(2, 0), (2, 1), (3, 0), (3, 1)]
    assert all(load.why_not == ("of another, earlier experiment than experiment-10.json describes",)
               for load in results.others)
    assert not any(load.valid for load in results.others)
    assert sum(load.valid for load in results.loads) == 4


def test_without_the_experiments_file_the_newest_experiment_counts(tmp_path: Path) -> None:
    add_older_run(tmp_path, None, 1000)
    add_older_run(tmp_path, "newer", 2000, runs=3)
    add_older_run(tmp_path, "oldest", 500, runs=1)
    results = read_results(tmp_path)
    assert {(load.run, load.record.experiment) for load in results.loads if load.record} == {
        (1, "newer"), (2, "newer")}
    assert {(load.run, load.record.experiment) for load in results.others if load.record} == {
        (0, "oldest"), (3, None)}


def test_tries_that_were_made_again_are_kept_and_do_not_count(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    cell = client / "10-2-tfo-1"
    for attempt in (2, 1, 10):
        write_load(attempt_directory(cell, attempt), made_record(
            url=NEWS, page=NEWS_PAGE, run=2, tfo=1, plt_ms=5000, attempt=attempt, why_not=["SYN retransmitted: 1"]))
    (cell / "attempt-x").mkdir()
    results = read_results(client)
    assert [load.record.attempt for load in results.again if load.record] == [1, 2, 10]
    assert {load.why_not for load in results.again} == {("SYN retransmitted: 1",)}
    assert sum(load.run == 2 and load.tfo == 1 for load in results.loads) == 1
    assert select(results, "load").left_out == []
    assert len(results.everything) == len(results.loads) + 3
