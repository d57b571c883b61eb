"""Each rule that makes a load valid, broken on purpose: real network, real kernel, real Chrome.

One experiment, in which every measured load is spoiled in a way of its own (tests/support/spoiled_experiment.py), and
one that a full disk ends. A wrong RTT: tests/measure/test_rtts.py. Stalls and others at random moments: tests/faults.
"""

from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.reason_kinds import ReasonKind
from harness.files.results import read_results
from harness.replay.body import KEPT_BYTES
from tests.support.finished import Finished
from tests.support.har_schema import assert_har
from tests.support.project_copy import LATE_PYTHON, TFO
from tests.support.ran import ran
from tests.support.recording import ICON, MadeRecording, one_document

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
"""On a busy machine there would be more reasons than the one that is made on purpose."""

SPOIL = ROOT / "tests" / "support" / "spoiled_experiment.py"
PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
LARGE = "x" * KEPT_BYTES
"""The servers do not keep so large a document in memory, so that a change of its file shows."""
PAGES = {name: f"http://{name}.test" for name in ("network", "document", "requests", "switch")} | {
    "authority": "https://authority.test"}
WHY = {
    ("network", 0): {ReasonKind.SYN_AGAIN}, ("network", 1): {ReasonKind.NO_LOAD_EVENT},
    ("document", 0): {ReasonKind.DOCUMENT_STATUS, ReasonKind.FAILED_REQUESTS},
    ("document", 1): {ReasonKind.DOCUMENT_BYTES},
    ("requests", 0): {ReasonKind.OTHER_ANSWERS}, ("requests", 1): {ReasonKind.NOT_LOGGED},
    ("authority", 0): {ReasonKind.BROWSER}, ("authority", 1): {ReasonKind.BROWSER},     # it shows an error page
    ("switch", 0): {ReasonKind.DATA_WITHOUT_TFO}, ("switch", 1): {ReasonKind.NO_DATA_WITH_TFO},
}
"""By page and TFO: why the measured load does not count, at least."""
LOADS = 2 * len(WHY)
"""Run 0 and run 1."""
CLIENT_IN_MEMORY = ('mount -t tmpfs -o size="$2" tmpfs "$1/client" && base=$1 && shift 2 && '
                    '{ "$@"; status=$?; cp -r "$base/client" "$base/kept"; exit $status; }')
"""A mount namespace of its own, in which client/ is a disk of `$2` bytes; what is on it in the end is in kept/."""


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    made = MadeRecording(tmp_path_factory.mktemp("spoiled"), "small", har=False)
    for page, url in PAGES.items():
        part = '<img src="a.png">' if page == "requests" else ""
        made.add(f"{url}/", f"<!doctype html>{ICON}<!--{LARGE}--><p>{page}{part}")
    for part in "ab":
        made.add(f"http://requests.test/{part}.png", PIXEL, "image/gif")
    base = made.finish(*PAGES.values())
    done = ran(*LATE_PYTHON, SPOIL, "rules", "--dir", base, "--name", "small", "--testruns", "2", "--delaynet", "5",
               "--retries", "0", "--patience", "0", status=1)
    assert f"{LOADS // 2} of {LOADS} page loads are valid" in done.stdout
    return Finished(base, done.stderr)


def test_spoiled_loads_are_kept_and_make_the_run_fail(spoiled: Finished) -> None:
    assert "Traceback" not in spoiled.said
    lines = {line for line in spoiled.said.splitlines() if "FAILED: " in line}
    assert len(lines) == LOADS // 2
    for load in spoiled.loads:
        assert load.valid == (load.run == 0), (load.url, load.why_not)
        said = f"{load.url} 10 ms run {load.run}"
        assert load.valid or any(said in line and "; ".join(load.why_not) in line for line in lines)


@pytest.mark.parametrize(("page", "tfo"), WHY)
def test_the_rule_that_is_broken_is_named(page: str, tfo: int, spoiled: Finished) -> None:
    load = spoiled.load(tfo, url=PAGES[page])
    assert set(load.why_not_kinds) >= WHY[page, tfo]
    if page == "network":
        assert load.plt_ms is None if tfo else (load.plt_ms or 0.0) > 250, "a spare connection starts after 250 ms"
    if page == "authority":
        assert load.failed_requests == {"net::ERR_CERT_AUTHORITY_INVALID": 1}
        assert not [request for request in spoiled.requests(tfo)
                    if request.host == "authority.test" and request.time_s >= (load.began_s or 0)]


def test_whatever_a_load_leaves_is_whole(spoiled: Finished) -> None:
    assert (spoiled.results.problems, len(spoiled.results.loads)) == ([], LOADS)
    hars = list(spoiled.client.glob("*/*.har"))
    assert len(hars) == LOADS
    assert all(assert_har(path)["entries"] for path in hars)
    assert not list(spoiled.client.glob("*/.*"))


def test_full_disk(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    (base / "client").mkdir()
    done = ran("unshare", "--mount", "sh", "-c", CLIENT_IN_MEMORY, "sh", base, "64k", *TFO, "--dir", base,
               "--name", "small", "--delaynet", "5", "--testruns", "5", "--retries", "0", status=1)
    complaint = done.stderr.splitlines()[-1]
    assert complaint.startswith(str(base / "client" / "5-"))
    assert "Traceback" not in done.stderr
    kept = read_results(base / "kept")
    assert kept.problems == []
    assert any(load.plt_ms for load in kept.loads), "some were whole before the disk was full"
    assert all(load.plt_ms is not None or load.record is None for load in kept.loads), "that of the load that was cut"
    assert not list((base / "kept").glob("*/.*"))
    for path in (base / "kept").glob("*/*.har"):
        assert_har(path)
