"""Pages that a server of their own makes (tests/corpus/pages): fetch.py records them, and their replay is the page.

NAME.py is the server, NAME.json what a recording must have, and what a load of its replay must get:

    page        the URL that is recorded
    fit         whether fetch.py finds the recording fit
    requests    how many of each URL, in which `*` stands for anything; [least, most] where chance decides
    replayed    the same for a load of the replay, where that differs from the recording
    missing     how many of the load's requests may have no recorded answer, or only a similar one; none without it
    plt_ms      the least time of the replay's load event, where the site itself takes that long
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.har import read_har
from harness.files.load_record import LoadRecord
from harness.files.pages import PageFiles, read_pages
from harness.files.urls import is_asked_by_browser
from harness.measure.evidence import Load
from harness.measure.loads import record_of
from harness.measure.loopback import loopback_of
from harness.measure.preflight import PageSet
from harness.measure.settings import Settings
from harness.mirror.recording import read_whole
from tests.support.ran import ran
from tests.support.started import started

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

CASES = {file.stem: json.loads(file.read_text()) for file in sorted((Path(__file__).parent / "pages").glob("*.json"))}
NAME = "S"
TRIES = 2
"""Loads of a replay, as where fetch.py tries one: what a page asks for may be chance."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> PageFiles:
    """Record the pages of all cases, whose servers' `remap` and `ca.pem` are beside the recording."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / f"{NAME}.pages").write_text("\n".join(case["page"] for case in CASES.values()))
    with started(sys.executable, "-m", "tests.corpus.pages.site", str(folder),
                 *(f"tests.corpus.pages.{case}" for case in CASES)):
        ran(sys.executable, ROOT / "fetch.py", "--dir", folder, "--name", NAME, "--remap", folder / "remap",
            "--ca", folder / "ca.pem", "--timeout", "20", "--no-trial",
            status=0 if all(case["fit"] for case in CASES.values()) else 1)
    return PageFiles(folder, NAME)


def differences(asked: list[str], wanted: dict[str, Any]) -> list[str]:
    """Say what was asked for more often or more rarely than `wanted`, and how often."""
    spans = {pattern: count if isinstance(count, list) else [count, count] for pattern, count in wanted.items()}
    counts = Counter(next((each for each in spans if fnmatchcase(url, each.replace("?", "[?]"))), url) for url in asked)
    return [f"{counts[each]} x {each}" for each in {**spans, **counts}
            if not spans.get(each, [0])[0] <= counts[each] <= spans.get(each, [0])[-1]]


def of_replay(load: LoadRecord, wanted: dict[str, Any]) -> Iterator[str]:
    """Say what is not as wanted in a load of the replay."""
    yield from load.errors
    each = load.answers.each if load.answers else ()
    yield from differences([answer.url for answer in each], wanted.get("replayed", wanted["requests"]))
    unfit = [answer.url for answer in each
             if answer.kind != "exact" and not is_asked_by_browser(answer.url)]     # it drops its own at a navigation
    yield from unfit if len(unfit) > wanted.get("missing", 0) else ()
    if (load.plt_ms or 0.0) < wanted.get("plt_ms", 0.0):
        yield f"a load event after {load.plt_ms} ms"


@pytest.mark.parametrize("case", CASES)
def test_the_replay_of_a_page_is_the_page(case: str, recorded: PageFiles) -> None:
    wanted = CASES[case]
    [page] = [page for page in read_pages(recorded.pages) if page.url == wanted["page"]]
    exchanges = read_har(recorded.fetchlog / f"{page.name}.har").exchanges
    of_recording = [exchange.request.url for exchange in exchanges if not exchange.from_cache]
    assert differences(of_recording, wanted["requests"]) == []

    page_set = PageSet(recorded, [page], read_whole(recorded))
    for _ in range(TRIES):
        with loopback_of(page_set, Settings(http="recorded", timeout_s=20)) as lab:
            problems = [*of_replay(record_of(lab, Load(page, 0, 0)), wanted)]
        if not problems:
            break
    assert problems == []
