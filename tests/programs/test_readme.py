"""Every command the README tells a reader to type works, in its quick form: so the README cannot rot."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.project_copy import copy_project, typed

README = (ROOT / "README.md").read_text(encoding="utf-8")
LIGHT = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
"""Of the paper's four pages: all are loaded in tests/synthetic/test_synthetic_chrome.py."""
OPTIONS = "./run.sh --http 1.1 --testruns 11 --bwnet 20 --pcap --delays 10 --dry-run"
UNTIL = "./run.sh --until-ci 3 --sweep-rtt 2,200 --dry-run"

QUICK = {
    "sudo ./run.sh": "./run.sh --quick --delays 10 --bwnet 100 --quiet 0.3 --patience 0",
    "sudo ./scripts/test.sh": "./scripts/test.sh --collect-only -q tests/files",
    "sudo ./run.sh --quick --delays 50": "./run.sh --quick --delays 50 --dry-run",
    **dict.fromkeys(("sudo ./run.sh --http 1.1", "sudo ./run.sh --testruns 11", "sudo ./run.sh --bwnet 20",
                     "sudo ./run.sh --pcap"), OPTIONS),
    "sudo ./run.sh --paper": "./run.sh --paper --delays 10 --dry-run",
    **dict.fromkeys(("sudo ./run.sh --until-ci 3", "sudo ./run.sh --sweep-rtt 2,5,10,20,50,100,200"), UNTIL),
    "./plot.py --compare client results-2026": "./plot.py --compare client client",
    "sudo ./connie/star.py --profile home --fault dead-v6":
        "./connie/star.py --profile home --fault none --strategies connie_connect --rounds 2",
    # Recording needs the Internet; tests/record/test_fetch.py and test_replay_internet.py do it from one of their own.
    "./fetch.py --name myURLS": "./fetch.py --help",
    "sudo ./run.sh --name myURLS": "./run.sh --help",
    # Wants the table of myURLS in the observations; tests/course/test_submission.py packs.
    "./scripts/submission.sh gtlogin": "./scripts/submission.sh --help",
}
"""What takes minutes, and the form that shows in seconds that it works: a dry run starts tfo.py once for each delay.

What has the same form is run once. Whatever is not here is run as it stands.
"""


def commands() -> list[str]:
    """Return the commands in the README's shell blocks, in order, without the remarks behind them."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", README, re.MULTILINE | re.DOTALL)
    lines = [re.split(r"\s+# ", line)[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_first_screen_has_the_two_commands() -> None:
    assert commands()[:2] == ["sudo ./run.sh", "sudo ./scripts/test.sh"]
    first_screen = "\n".join(README.splitlines()[:20])
    assert "sudo ./scripts/test.sh" in first_screen
    assert "./scripts/get-2013.sh" in first_screen      # the real pages


def test_no_command_is_stale() -> None:
    assert set(QUICK) <= set(commands())


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_command_works(tmp_path: Path) -> None:
    """The first is a real, quick experiment on one of the paper's pages; those after it read its results."""
    project = copy_project(tmp_path / "project")
    (project / "Paper.pages").write_text(LIGHT)
    (project / "observations.txt").write_text("what I saw\n")
    (project / "myURLS.pages").write_text("http://a.example.org/\nhttps://b.example.com/\nhttps://c.example.net/\n")
    outputs: dict[str, str] = {}
    for command in commands():
        words = re.sub(r"^sudo ", "", QUICK.get(command, command))
        if words in outputs and words in QUICK.values():
            continue
        done = subprocess.run(typed(project, *words.split()), capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        outputs[words] = done.stdout
    measured = outputs[QUICK["sudo ./run.sh"]]
    [row] = [line for line in measured.splitlines() if line.startswith("\t")]
    assert re.fullmatch(r"\t20\t\d+\.\d{3}\t\d+\.\d{3}\t-?\d+\.\d\d%", row), row
    assert len(list((project / "output-figures").glob("timing-*-20.png"))) == 1
    assert "synthetic" in measured
    observations = (project / "observations.txt").read_text()
    assert observations.startswith("what I saw\n")
    assert row in observations


def test_links_and_files_exist() -> None:
    for target in re.findall(r"\]\(((?!https?:)[^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    table = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        folder = Path()
        for name in re.findall(r"`([^`]+)`", row):
            folder = Path(name).parent if "/" in name.rstrip("/") else folder
            path = ROOT / name if (ROOT / name).exists() else ROOT / folder / name
            assert path.exists(), name
