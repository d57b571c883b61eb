"""What is special of a laboratory on loopback, and which pages are found unfit in it before anything is measured."""

from pathlib import Path

import pytest

from harness.files.pages import Page
from harness.measure.loopback import Trial, say_ready, trial_of
from harness.measure.rule import Reason
from harness.network.star import loopback_star
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_record
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.recording import ICON, MadeRecording


def test_each_host_has_an_address_of_its_own_and_always_the_same() -> None:
    star = loopback_star([f"host{number}.test" for number in range(600)])
    addresses = [host.address for host in star.servers.values()]
    assert (addresses[0], addresses[599], len(set(addresses))) == ("127.84.0.1", "127.84.2.88", 600)


PAGE = Page("http://one.test", "httpone.test")


@pytest.mark.parametrize(("tries", "trial", "status"), [
    ([[]], Trial(), 0), ([[accident("late")]] * 2, Trial(failed="late"), 0), ([[accident("late")], []], Trial(), 0),
    ([[accident("late"), of_the_page("few\x1b[2J")], [accident("late")]], Trial(("few\x1b[2J",)), 1)])
def test_only_what_the_page_is_to_blame_for_makes_it_unfit(tries: list[list[Reason]], trial: Trial, status: int,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert trial_of((made_record(), verdict) for verdict in tries) == trial
    assert say_ready({PAGE: trial}, "1 page") == status
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), "\x1b" in said.err) == ("" if status else "ready: 1 page\n", status, False)


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
def test_a_hollow_page_is_found_by_a_dry_run(tmp_path: Path) -> None:
    mirror = MadeRecording(tmp_path, "small", har=False)
    lost = "".join(f'<img src="http://gone{number}.example/x.gif">' for number in range(9))
    mirror.add("http://incomplete.test/", f"<!doctype html>{ICON}<p>incomplete{lost}")
    mirror.add("http://whole.test/", f"<!doctype html>{ICON}<p>whole")
    base = mirror.finish("http://incomplete.test/", "http://whole.test/")
    command = [*TFO, "--quiet", "0.3", "--dir", str(base), "--name", "small", "--dry-run"]
    done = ran(*command, status=1)
    assert done.stderr.startswith("http://incomplete.test/: not fit to be measured: 9 of 10 requests failed: ")
    assert done.stderr.count("\n") == 1
    assert not (base / "client").exists()
    checked = ran(*command[:-1], "--dry-run=check", "--testruns", "2", status=0)
    assert checked.stdout.startswith("ready: 2 pages on 2 hosts; ")
