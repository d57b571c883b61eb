"""Client folders: names, writing, reading, and which loads count: ``results.jsonl``, a folder a line.

A folder has what `make_client` makes (`made`, its arguments), more `loads` of the news page ([one-way delay in ms, run,
TFO, PLT in ms, what else their records say]), `experiments` by delay, `changes` of JSON files, and other `files`, or
folders, whose names end in a slash. `is` says which loads count and which do not, what is missing, where there is a
problem, and RTTs by name; or which file refuses the folder.
"""

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
from harness.files.results import LoadResult, cell_directory, parse_cell_directory, read_results, write_load
from harness.system.atomic import write_atomically, written_beside
from tests.support.client_folder import NEWS, add_load, make_client
from tests.support.made_record import made_record

OLD = Path(__file__).parent.parent / "data" / "2013"
NEWS_PAGE = "httpwww.news.example"
CASES = [json.loads(line) for line in (Path(__file__).parent / "results.jsonl").read_text().splitlines()]


def written(client: Path, case: dict[str, Any]) -> None:
    """Write the folder of a case."""
    for arguments in case.get("made", ()):
        make_client(client, **{"delays_ms": [10], "urls": [NEWS], **arguments})
    for delaynet_ms, run, tfo, plt_ms, more in case.get("loads", ()):
        add_load(client, NEWS, delaynet_ms, run, tfo, plt_ms, **more)
    for delay_ms, settings in case.get("experiments", {}).items():
        write_experiment(client, float(delay_ms), settings)
    for name, change in case.get("changes", {}).items():
        (client / name).write_text(json.dumps(json.loads((client / name).read_text()) | change))
    for name, text in case.get("files", {}).items():
        (client / name).parent.mkdir(parents=True, exist_ok=True)
        (client / name).mkdir() if name.endswith("/") else (client / name).write_text(text)


def summary(client: Path) -> dict[str, Any]:
    """Return what is read of a folder, without what is empty."""
    try:
        results = read_results(client)
    except InputError as error:
        return {"refused": str(error).removeprefix(str(client)).partition(":")[0]}
    selection = select(results, "load")

    def names(loads: list[LoadResult]) -> list[str]:
        return [f"{load.log.parent.relative_to(client)} {load.record.experiment or '' if load.record else ''}".strip()
                for load in loads]

    found = {
        "counts": names([load for load in results.loads if load.valid]),
        "not": names([load for load in results.loads if not load.valid]),
        "again": names(results.again), "others": names(results.others),
        "missing": [f"{cell.page} {cell.rtt_ms:g} {cell.transport}" for cell in selection.missing],
        "problems": [problem.removeprefix(f"{client}/").partition(": ")[0] for problem in results.problems],
        "urls": [*results.urls.values()], "rtts_ms": results.rtts_ms, "rtt_names": [*results.rtt_names.values()]}
    assert not any(load.valid for load in (*results.again, *results.others))
    assert len(results.everything) == len({load.log for load in results.everything})
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_a_folder_is_read_as_its_line_says(case: dict[str, Any], tmp_path: Path) -> None:
    written(tmp_path / "client", case)
    assert summary(tmp_path / "client") == case["is"]


@given(delaynet_ms=st.floats(0, 1e9).map(lambda delay_ms: float(f"{delay_ms:g}")), run=st.integers(0, 10**6),
       tfo=st.sampled_from([0, 1]))
def test_directory_names_read_back(delaynet_ms: float, run: int, tfo: int) -> None:
    assert parse_cell_directory(cell_directory(delaynet_ms, run, tfo)) == (delaynet_ms, run, tfo)


def test_a_run_that_somebody_else_keeps_closed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = make_client(tmp_path) / "10-1-tfo-0"
    listed = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:      # root, as whom tests run, may read everything
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(InputError, match=rf"^{closed}:1: "):
        read_results(tmp_path)


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
    with pytest.raises(ValueError):
        write_load(tmp_path, replace(made_record(page="y"), plt_ms=float("nan")))
    assert not (tmp_path / "y.json").exists()
