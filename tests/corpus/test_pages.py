"""Pages that a server of their own makes (tests/corpus/pages): fetch.py records each, and its replay is the page.

NAME.py is the server, NAME.json what a recording must have, and what a load of its replay must get:

    page        the URL that is recorded
    fit         whether fetch.py finds its replay fit
    requests    how many of each URL, in which `*` stands for anything; [least, most] where chance decides
    replayed    the same for a load of the replay, where that differs from the recording
    missing     how many of the load's requests may have no recorded answer, or only a similar one; none without it
    plt_ms      the least time of the replay's load event, where the site itself takes that long
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.load_har import read_har
from harness.files.pages import PageFiles, read_pages
from harness.files.urls import is_asked_by_browser
from harness.measure.settings import Settings
from harness.measure.trial import just_recorded, load_once
from tests.support.ran import ran
from tests.support.started import started

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

CASES = Path(__file__).parent / "pages"
NAME = "S"


@contextmanager
def served(case: str, directory: Path) -> Iterator[None]:
    """Run the case's server; its `remap` and `ca.pem` are in `directory`."""
    with started(sys.executable, "-m", "tests.corpus.pages.site", f"tests.corpus.pages.{case}", str(directory)):
        yield


def differences(asked: list[str], wanted: dict[str, Any]) -> list[str]:
    """Say which of the `wanted` requests were asked for too often or too rarely, and which others were asked for."""
    counts: Counter[str] = Counter()
    others = []
    for request in asked:
        pattern = next((pattern for pattern in wanted
                        if re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), request)), None)
        counts[pattern or ""] += 1
        others += [] if pattern else [f"also {request}"]
    for pattern, count in wanted.items():
        least, most = count if isinstance(count, list) else (count, count)
        if not least <= counts[pattern] <= most:
            others.append(f"{counts[pattern]} for {count} x {pattern}")
    return others


def cases() -> list[str]:
    """Return the names of the cases."""
    return sorted(file.stem for file in CASES.glob("*.json"))


@pytest.mark.parametrize("case", cases())
def test_the_replay_of_a_page_is_the_page(case: str, tmp_path: Path) -> None:
    wanted = json.loads((CASES / f"{case}.json").read_text())
    (tmp_path / f"{NAME}.pages").write_text(wanted["page"])
    with served(case, tmp_path):
        done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", NAME, "--remap", tmp_path / "remap",
                   "--ca", tmp_path / "ca.pem", "--timeout", "20")
    files = PageFiles(tmp_path, NAME)
    (page,) = read_pages(files.pages)
    asked = read_har(files.fetchlog / f"{page.name}.har").exchanges
    recorded = [exchange.request.url for exchange in asked if not exchange.from_cache]
    assert differences(recorded, wanted["requests"]) == [], done.stdout
    assert (done.returncode == 0) == wanted["fit"], done.stdout + done.stderr

    load = load_once(just_recorded(files, [page]), page, Settings(http="recorded", timeout_s=20))
    assert load.errors == ()
    assert load.answers is not None
    got = [answer.url for answer in load.answers.each]
    assert differences(got, wanted.get("replayed", wanted["requests"])) == []
    unfit = [answer for answer in load.answers.each
             if answer.kind != "exact" and not is_asked_by_browser(answer.url)]     # it drops its own at a navigation
    assert len(unfit) <= wanted.get("missing", 0), unfit
    assert (load.plt_ms or 0.0) >= wanted.get("plt_ms", 0.0)
