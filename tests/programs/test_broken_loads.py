"""Each rule that makes a load valid, broken on purpose: real network, real kernel, real Chrome.

One experiment, in which every measured load but those of one page is spoiled in a way of its own (see
tests/support/spoiled_experiment.py), and one each for what ends an experiment: a wrong RTT, a full disk.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from harness.bootstrap import ROOT
from harness.files.pages import sanitise
from harness.files.results import read_results
from harness.network.rtt import rtt_tolerance_ms
from harness.replay.body import KEPT_BYTES
from tests.support.har_schema import assert_har
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.small_mirror import ICON, SmallMirror, one_document

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timing]
"""On a busy machine there would be more reasons than the one that is made on purpose."""

SPOIL = [sys.executable, str(ROOT / "tests" / "support" / "spoiled_experiment.py")]
PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
LARGE = "x" * KEPT_BYTES
"""The servers do not keep so large a document in memory, so that a change of its file shows."""
PAGES = ("good", "network", "server", "document", "requests", "switch")
CLIENT_IN_MEMORY = ('mount -t tmpfs -o size="$2" tmpfs "$1/client" && base=$1 && shift 2 && '
                    '{ "$@"; status=$?; cp -r "$base/client" "$base/kept"; exit $status; }')
"""A mount namespace of its own, in which client/ is a disk of `$2` bytes; what is on it in the end is in kept/."""


@dataclass(frozen=True)
class Spoiled:
    """What an experiment left behind, and what plot.py makes of it."""

    base: Path
    done: "subprocess.CompletedProcess[str]"
    plot: "subprocess.CompletedProcess[str]"

    def load(self, page: str, run: int, tfo: int) -> dict[str, Any]:
        """Return a load's record."""
        path = self.base / "client" / f"5-{run}-tfo-{tfo}" / f"{sanitise(f'http://{page}.test')}.json"
        record: dict[str, Any] = json.loads(path.read_text())
        return record

    def why_not(self, page: str, tfo: int) -> list[str]:
        """Return the reasons against the one measured load."""
        return list(self.load(page, 1, tfo)["why_not"])


def run(*command: object, status: int | None = None) -> "subprocess.CompletedProcess[str]":
    return ran(*command, status=status)


def make_pages(directory: Path) -> Path:
    mirror = SmallMirror(directory)
    for page in PAGES:
        images = "".join(f'<img src="http://images.network.test/{number}.gif">' for number in range(6))
        parts = {"network": images, "requests": '<img src="a.png">'}.get(page, "")
        mirror.add(f"http://{page}.test/", f"<!doctype html>{ICON}<!--{LARGE}--><p>{page}{parts}")
    for number in range(6):
        mirror.add(f"http://images.network.test/{number}.gif", PIXEL, "image/gif")
    for name in ("a", "b"):
        mirror.add(f"http://requests.test/{name}.png", PIXEL, "image/gif")
    return mirror.finish(*(f"http://{page}.test" for page in PAGES))


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Spoiled:
    base = make_pages(tmp_path_factory.mktemp("spoiled"))
    done = run(*SPOIL, "rules", "--dir", base, "--name", "small", "--testruns", "2", "--delaynet", "5",
               "--retries", "0", "--patience", "0")
    plot = run(ROOT / "plot.py", "--clientdir", base / "client", "--outputdir", base / "out")
    return Spoiled(base, done, plot)


def test_accidents_are_measured_again_and_the_table_is_full(tmp_path: Path) -> None:
    """A server that hangs, and a Chrome that is killed."""
    base = make_pages(tmp_path)
    (base / "small.pages").write_text("http://server.test\n")
    done = run(*SPOIL, "once", "--dir", base, "--name", "small", "--testruns", "2", "--delaynet", "5",
               "--patience", "0", status=0)
    assert "4 of 4 page loads are valid; it took 6 loads, since 2 failed by accident" in done.stdout
    run(ROOT / "plot.py", "--clientdir", base / "client", "--outputdir", base / "out", status=0)
    tried = sorted(path.parent.parent.name for path in base.glob("client/*/attempt-1/*.json"))
    assert tried == ["5-1-tfo-0", "5-1-tfo-1"]


def test_spoiled_loads_are_kept_and_make_the_run_fail(spoiled: Spoiled) -> None:
    assert spoiled.done.returncode == 1, spoiled.done.stdout + spoiled.done.stderr
    assert "14 of 24 page loads are valid" in spoiled.done.stdout
    assert "Traceback" not in spoiled.done.stderr
    lines = [line for line in spoiled.done.stderr.splitlines() if "FAILED: " in line]
    assert len(lines) == len(set(lines)) == 10
    for page in PAGES:
        for tfo in (0, 1):
            assert spoiled.load(page, 0, tfo)["why_not"] == []
            assert spoiled.load(page, 1, tfo)["valid"] == (page == "good"), (page, tfo)
            why = "; ".join(spoiled.why_not(page, tfo))
            assert page == "good" or any(why in line and f"http://{page}.test 10 ms run 1" in line for line in lines)


def test_the_table_has_no_number_for_them(spoiled: Spoiled) -> None:
    """The spoiled loads are all that their cells have, so these are empty; the good page's are not."""
    assert spoiled.plot.returncode == 1
    good, *others = [row for row in spoiled.plot.stdout.splitlines() if row.startswith("\t10\t")]
    assert re.fullmatch(r"\t10\t\d\.\d{3}\t\d\.\d{3}\t-?\d+\.\d\d%", good), good
    assert others == ["\t10\t-\t-\t-"] * 5
    report = (spoiled.base / "out" / "report.html").read_text()
    for page in PAGES[1:]:
        for tfo in (0, 1):
            assert str(escape(spoiled.why_not(page, tfo)[0])) in report


def test_network(spoiled: Spoiled) -> None:
    """A SYN that is lost is sent again, and so is one that found the queue full."""
    dropped, overflow = spoiled.why_not("network", 0), spoiled.why_not("network", 1)
    assert re.fullmatch(r"SYN retransmitted by user: \d+", dropped[0])
    assert any(re.fullmatch(r"ListenOverflows at servers: \d+", reason) for reason in overflow), overflow
    assert any(re.fullmatch(r"SYN retransmitted by user: \d+", reason) for reason in overflow), overflow
    assert spoiled.load("network", 1, 0)["plt_ms"] > 250, "Chrome's spare connection starts after 250 ms"
    assert spoiled.load("network", 1, 1)["plt_ms"] > 900, "the SYN is sent again after 1 s"
    assert not any("the document" in reason for reason in overflow)


def test_server(spoiled: Spoiled) -> None:
    assert spoiled.why_not("server", 0) == ["no load event within 3 s"]
    assert spoiled.load("server", 1, 0)["plt_ms"] is None
    killed, *more = spoiled.why_not("server", 1)
    assert killed == "Chrome ended in the middle of the load"
    assert more in ([], ["requests that never ended: 1"]), "Chrome may not have written so far in its net-log"
    assert spoiled.load("server", 1, 1)["plt_ms"] is None


def test_document(spoiled: Spoiled) -> None:
    missing, *more = spoiled.why_not("document", 0)
    assert missing == "the document answered 404"
    assert more[0] == "1 of 1 requests failed: not in the recording (document.test)"
    assert all(reason.startswith("got only 0 of the ") for reason in more[1:]), more
    wrong = spoiled.why_not("document", 1)
    assert len(wrong) == 1
    match = re.fullmatch(r"the document had (\d+) bytes, the recorded one has (\d+)", wrong[0])
    assert match, wrong
    assert int(match[1]) - int(match[2]) == len("<p>more")


def test_requests(spoiled: Spoiled) -> None:
    assert ("got other answers than the page's other loads: 1 missing, 0 with other status, bytes or error, 1 more "
            "(no http://requests.test/a.png)") in spoiled.why_not("requests", 0)
    unknown = "the servers' logs know of 0 of the 2 connections over which answers came"
    why_not = spoiled.why_not("requests", 1)
    assert unknown in why_not
    assert all(reason == unknown or reason.startswith("got only 0 of the ") for reason in why_not), why_not


def test_switch(spoiled: Spoiled) -> None:
    off = "; ".join(spoiled.why_not("switch", 0))
    assert re.search("TFO is off, but [1-9] connections carried data in the SYN", off), "Chrome may open a spare one"
    assert "TFO is on, but only 0 of 1 connections carried their request in the SYN" in spoiled.why_not("switch", 1)


def test_whatever_a_load_leaves_is_whole(spoiled: Spoiled) -> None:
    results = read_results(spoiled.base / "client")
    assert results.problems == []
    assert len(results.loads) == 24
    hars = list((spoiled.base / "client").glob("*/*.har"))
    assert len(hars) >= 23, "only the killed Chrome may have left no HAR"
    assert all(assert_har(path)["entries"] for path in hars)
    assert not list((spoiled.base / "client").glob("*/.*"))


def test_wrong_rtt(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    done = run(*SPOIL, "rtt", "--dir", base, "--name", "small", "--delaynet", "20", "--patience", "0", status=1)
    said = re.fullmatch(r"40 ms: RTT to one\.test is ([\d.]+) ms, not 40 \+- 1\.8 ms: .*\n", done.stderr)
    assert said is not None, done.stderr
    assert float(said[1]) > 40 + rtt_tolerance_ms(40)
    assert [path.name for path in (base / "client").glob("*")] in ([], ["run.log"]), "a load was measured"


def test_full_disk(tmp_path: Path) -> None:
    base = one_document(tmp_path)
    (base / "client").mkdir()
    done = run("unshare", "--mount", "sh", "-c", CLIENT_IN_MEMORY, "sh", base, "64k", *TFO, "--dir", base,
               "--name", "small", "--delaynet", "5", "--testruns", "5", "--retries", "0", status=1)
    complaint = done.stderr.splitlines()[-1]
    assert complaint.startswith(str(base / "client" / "5-"))
    assert complaint.endswith(": the disk is full; make room and try again")
    assert "Traceback" not in done.stderr
    kept = read_results(base / "kept")
    assert kept.problems == []
    assert any(load.plt_ms for load in kept.loads), "some were whole before the disk was full"
    cut_short = ("no .json beside its log: the load was cut short",)
    assert all(load.plt_ms is not None or load.why_not == cut_short for load in kept.loads)
    assert not list((base / "kept").glob("*/.*"))
    for path in (base / "kept").glob("*/*.har"):
        assert_har(path)
