"""The layouts that a recording offers: as it was, by registrable domain, all in one: `layouts.jsonl`, one a line.

`pages` are what each page got from which address; `servers` None: the layout cannot be made.
"""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.mirror.layouts import make_layout
from harness.mirror.recording import read_recording

CASES = [json.loads(line) for line in Path(__file__).with_name("layouts.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_which_hosts_share_a_server(case: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "Web" / "www.one.test").mkdir(parents=True)
    for page, answers in case["pages"].items():
        entries = [{"request": {"url": url}, "response": {"status": 200}, "serverIPAddress": address}
                   for url, address in answers]
        (tmp_path / f"{page}.har").write_text(json.dumps({"log": {"entries": entries}}))
        (tmp_path / page).touch()
    recording = read_recording(tmp_path / "Web", tmp_path)
    with nullcontext() if case["servers"] else pytest.raises(InputError):
        layout, _ = make_layout(case["layout"], recording)
        assert layout.servers(recording.hosts()) == case["servers"]
