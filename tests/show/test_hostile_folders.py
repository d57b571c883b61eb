"""Client folders that mean harm: whatever stands in them, plot.py's parts end with a result or with one line."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.analysis.load_tables import load_rows
from harness.errors import InputError, printable
from harness.files.table_files import WRITERS
from harness.show.console import format_console
from harness.show.improvement import prediction_section
from harness.show.report import render
from harness.show.section import section_lines
from tests.support.client_folder import selected
from tests.support.nested import nested
from tests.support.report_folder import MEASURED

PAGE = "httpen.wikipedia.orgwikiTransmission_Control_Protocol"
FILES = [f"50-1-tfo-{tfo}/{PAGE}{ending}" for tfo in (0, 1) for ending in ("", ".json", ".har")]

scalars = st.none() | st.booleans() | st.integers(-10**20, 10**20) | st.floats() | st.text(max_size=5) | \
    st.sampled_from([-1, 1e308, "\x1b[2J", "\ud800", "</script>", 2**63])
anything = st.recursive(scalars, lambda values: st.lists(values, max_size=2)
                        | st.dictionaries(st.text(max_size=3), values, max_size=2), max_leaves=4)


def shown(client: Path) -> str:
    """Return what plot.py would print of a folder, and make all else that it makes."""
    selection = selected(client)
    text = format_console(selection)
    text += "".join(f"{line}\n" for line in section_lines(prediction_section(selection)))
    render(selection).encode()
    for write in WRITERS.values():
        write([*load_rows(client)]).encode("utf-8", "backslashreplace")
    assert all(character.isprintable() or character in "\n\t" for character in text)
    return text


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values inside of one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(MEASURED, tmp_path_factory.mktemp("measured") / "client"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), name=st.sampled_from([*FILES[1:3], *FILES[4:], "experiment-50.json"]), new=anything)
def test_any_value_anywhere_in_a_file(measured: Path, data: st.DataObject, name: str, new: Any) -> None:
    path = measured / name
    whole = path.read_text()
    content = inside = [json.loads(whole)]
    *folders, last = data.draw(st.sampled_from(places(content)[1:401]))
    for key in folders:
        inside = inside[key]
    inside[last] = new
    try:
        path.write_text(json.dumps(content[0]))
        shown(measured)
    except InputError as error:
        assert "\n" not in printable(str(error))  # noqa: PT017
    finally:
        path.write_text(whole)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 60 * 10**9)


KINDS: list[Callable[[Path], object]] = [
    os.mkfifo, lambda path: path.mkdir(), lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path),
    lambda path: path.write_bytes(bytes(range(256)) * 50), lambda path: path.write_text("[" * 200_000),
    lambda path: path.write_text("9" * 4000), lambda path: path.write_text('{"format": 2, "run": 1e999}'),
    sparse, lambda path: path.write_text("")]


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_files_of_any_kind(tmp_path: Path, kind: int) -> None:
    for names in ((FILES[0], FILES[5]), (FILES[1], "experiment-50.json")):     # of each load one file at most
        client = Path(shutil.copytree(MEASURED, tmp_path / names[1].replace("/", "-")))
        for name in names:
            (client / name).unlink()
            KINDS[kind](client / name)
        assert "Page\tRTT(ms)" in shown(client)


def test_names_of_any_kind(tmp_path: Path) -> None:
    """Escapes, line breaks, other encodings, 3000 nested folders and absurd delays in a folder of logs."""
    client = Path(shutil.copytree(MEASURED, tmp_path / "client"))
    cell = client / "50-1-tfo-0"
    for name in (b"http\x1b[2Ja", b"http\ta\nb", b"http\xff\xfe", "http\u202eevil".encode(), b"http<b>$x_{}$\\"):
        (cell / os.fsdecode(name)).write_text("no log")
    digits = "9" * 200
    for folder in (f"{digits}-1-tfo-0", "1e+308-1-tfo-0", f"50-{digits}-tfo-0", f"50-1-tfo-0/attempt-{digits}"):
        (client / folder).mkdir()
        (client / folder / PAGE).write_text("no log")
    with nested(cell, 3000):
        text = shown(client)
    assert "http\\x1b[2Ja" in text
    assert "http\\ta\\nb" in text
    assert "\\u202eevil" in text
