"""Client folders: names, writing, reading, and which loads count: ``results.jsonl``, a folder a line.

A folder has what `make_client` makes (`made`, its arguments), more `loads` of the news page ([one-way delay in ms, run,
TFO, PLT in ms, what else their records say]), `changes` of JSON files, other `files`, or folders, whose names end in a
slash, and folders that are `copied` from logs of 2013. `is` says which loads count and which do not, what is missing,
cells of cold loads, where there is a problem, and RTTs by name; or which file refuses the folder.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.selection import select
from harness.errors import InputError
from harness.files.results import LoadResult, read_results, write_load
from harness.system.atomic import write_atomically, written_beside
from tests.support.client_folder import NEWS, add_load, make_client
from tests.support.made_record import made_record
from tests.support.noted import each_case
from tests.support.ordinary import ORDINARY, acting_as

OLD = Path(__file__).parent.parent / "data" / "2013"


def written(client: Path, case: dict[str, Any]) -> None:
    """Write the folder of a case."""
    for arguments in case.get("made", ()):
        make_client(client, **{"delays_ms": [10], "urls": [NEWS], **arguments})
    for delaynet_ms, run, tfo, plt_ms, more in case.get("loads", ()):
        add_load(client, NEWS, delaynet_ms, run, tfo, plt_ms, **more)
    for name, change in case.get("changes", {}).items():
        (client / name).write_text(json.dumps(json.loads((client / name).read_text()) | change))
    for name, text in case.get("files", {}).items():
        (client / name).parent.mkdir(parents=True, exist_ok=True)
        (client / name).mkdir() if name.endswith("/") else (client / name).write_text(text)
    for name, source in case.get("copied", {}).items():
        shutil.copytree(OLD / source, client / name)


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
        **{what: [f"{cell.page} {cell.rtt_ms:g} {cell.transport}" for cell in cells] for what, cells in
           (("missing", selection.missing), ("cold", [cell for cell in selection.cells if cell.cold]))},
        "problems": [problem.removeprefix(f"{client}/").partition(": ")[0] for problem in results.problems],
        "urls": [*results.urls.values()], "rtts_ms": results.rtts_ms, "rtt_names": [*results.rtt_names.values()]}
    assert not any(load.valid for load in (*results.again, *results.others))
    assert len(results.everything) == len({load.log for load in results.everything})
    return {name: value for name, value in found.items() if value}


@each_case("files/results.jsonl")
def test_a_folder_is_read_as_its_line_says(case: dict[str, Any], tmp_path: Path) -> None:
    written(tmp_path / "client", case)
    assert summary(tmp_path / "client") == case["is"]


@pytest.mark.root
def test_a_run_that_somebody_else_keeps_closed_is_named(open_to_all: Path) -> None:
    (make_client(open_to_all) / "10-1-tfo-0").chmod(0o700)
    with acting_as(ORDINARY):
        assert summary(open_to_all) == {"refused": "/10-1-tfo-0"}


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
    with pytest.raises(ValueError):
        write_load(tmp_path, replace(made_record(page="y"), plt_ms=float("nan")))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
