"""Client folders that mean harm: whatever stands in them, plot.py's parts end with a result or with one line."""

import json
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.analysis.load_tables import load_rows
from harness.errors import InputError, printable
from harness.files.table_files import WRITERS
from harness.show.console import format_console
from harness.show.report import render
from tests.support.client_folder import selected
from tests.support.nested import nested
from tests.support.report_folder import MEASURED

PAGE = "httpen.wikipedia.orgwikiTransmission_Control_Protocol"

scalars = st.none() | st.booleans() | st.integers(-10**20, 10**20) | st.floats() | st.text(max_size=5) | \
    st.sampled_from([-1, 1e308, "\x1b[2J", "\ud800", "</script>", 2**63])
anything = st.recursive(scalars, lambda values: st.lists(values, max_size=2)
                        | st.dictionaries(st.text(max_size=3), values, max_size=2), max_leaves=4)


def shown(client: Path) -> str:
    """Return what plot.py would print of a folder, and make all else that it makes."""
    selection = selected(client)
    text = format_console(selection, detail=True)
    render(selection).encode()
    for write in WRITERS.values():
        write([*load_rows(client)]).encode("utf-8", "backslashreplace")
    assert all(character.isprintable() or character in "\n\t" for character in text)
    return text


def put_anywhere(data: st.DataObject, text: str) -> str:
    """Return a file of JSON with any value anywhere in it."""
    content: Any = json.loads(text)
    inside, goes_on = content, True
    while goes_on:
        key = data.draw(st.sampled_from([*inside] if isinstance(inside, dict) else range(len(inside))))
        goes_on = isinstance(inside[key], dict | list) and len(inside[key]) > 0 and data.draw(st.integers(0, 3)) > 0
        if goes_on:
            inside = inside[key]
    inside[key] = data.draw(anything)
    return json.dumps(content)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(MEASURED, tmp_path_factory.mktemp("measured") / "client"))


@settings(max_examples=13, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), tfo=st.integers(0, 1), other=st.sampled_from(["50-1-tfo-{}/{}.har", "experiment-50.json"]))
def test_any_value_anywhere_in_two_files(measured: Path, data: st.DataObject, tfo: int, other: str) -> None:
    """In a load's record, and the HAR of the one beside it or the experiment's file."""
    paths = [measured / f"50-1-tfo-{tfo}/{PAGE}.json", measured / other.format(1 - tfo, PAGE)]
    whole = {path: path.read_text() for path in paths}
    try:
        for path, text in whole.items():
            path.write_text(put_anywhere(data, text))
        shown(measured)
    except InputError as error:
        assert "\n" not in printable(str(error))  # noqa: PT017
    finally:
        for path, text in whole.items():
            path.write_text(text)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 60 * 10**9)


KINDS: list[Callable[[Path], object]] = [
    os.mkfifo, lambda path: path.mkdir(), lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path),
    lambda path: path.write_bytes(bytes(range(256)) * 50), lambda path: path.write_text("[" * 200_000),
    sparse, lambda path: path.write_text("")]
NAMES = (b"http\x1b[2Ja", b"http\ta\nb", b"http\xff\xfe", "http\u202eevil".encode(), b"http<b>$x_{}$\\")


def test_files_and_names_of_any_kind(tmp_path: Path) -> None:
    """Each kind in the place of a log, a record, a HAR and an experiment's file, beside a load that is whole.

    Then escapes, line breaks, other encodings, 3000 nested folders and absurd delays.
    """
    client = Path(shutil.copytree(MEASURED, tmp_path / "client"))
    whole = client / "50-1-tfo-0"
    for run, (ending, make) in enumerate(product(("", ".json", ".har"), KINDS), start=2):
        cell = shutil.copytree(whole, client / f"50-{run}-tfo-0")
        record = cell / f"{PAGE}.json"
        record.write_text(record.read_text().replace('"run": 1,', f'"run": {run},'))
        path = cell / f"{PAGE}{ending}"
        path.unlink()
        make(path)
    for number, make in enumerate(KINDS):
        make(client / f"experiment-{60 + number}.json")
    for name in NAMES:
        (whole / os.fsdecode(name)).write_text("no log")
    digits = "9" * 200
    for folder in (f"{digits}-1-tfo-0", "1e+308-1-tfo-0", f"50-{digits}-tfo-0", f"50-1-tfo-0/attempt-{digits}"):
        (client / folder).mkdir()
        (client / folder / PAGE).write_text("no log")
    with nested(whole, 3000):
        text = shown(client)
    for words in ("\t100\t2.436\t1.835\t24.66%", "n = 1 to 17 loads", "21 problems in files", "http\\x1b[2Ja",
                  "http\\ta\\nb", "\\u202eevil"):
        assert words in text
