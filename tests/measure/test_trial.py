"""A page that no load can get whole is said to be unfit before anything is measured."""

from pathlib import Path

import pytest

from harness.files.pages import Page
from harness.measure.loopback import Trial, say_ready, trial_of
from harness.measure.rule import Reason
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_record
from tests.support.project_copy import TFO
from tests.support.ran import ran
from tests.support.small_mirror import ICON, SmallMirror

PAGE = Page("http://one.test", "httpone.test")


@pytest.mark.parametrize(("tries", "trial"), [
    ([[]], Trial()), ([[accident("late")]] * 2, Trial(failed="late")), ([[accident("late")], []], Trial()),
    ([[accident("late"), of_the_page("too few")], [accident("late")]], Trial(("too few",)))])
def test_only_what_the_page_is_to_blame_for_makes_it_unfit(tries: list[list[Reason]], trial: Trial) -> None:
    assert trial_of((made_record(), verdict) for verdict in tries) == trial


def test_an_unfit_page_is_one_line_and_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert say_ready({PAGE: Trial(failed="late")}, "1 page") == 0
    assert say_ready({PAGE: Trial(("a", "b\x1b[2J"))}, "2 pages") == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), "\x1b" in said.err) == ("ready: 1 page\n", 1, False)


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
def test_a_hollow_page_is_found_by_a_dry_run(tmp_path: Path) -> None:
    mirror = SmallMirror(tmp_path)
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
