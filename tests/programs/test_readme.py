"""Every command the README tells a reader to type works, in its quick form: so the README cannot rot."""

import re
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran

README = (ROOT / "README.md").read_text(encoding="utf-8")
LIGHT = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
"""The lightest of the paper's four pages."""
QUICK = {
    "sudo ./run.sh": "./run.sh --quick --delays 10 --bwnet 100 --quiet 0.3 --patience 0",
    "sudo ./scripts/test.sh": "./scripts/test.sh --collect-only -q tests/files",
    "sudo ./run.sh --quick --delays 50": "./run.sh --quick --delays 10 --bwnet 100 --quiet 0.3 --patience 0",
    "sudo ./run.sh --http 1.1": "./run.sh --http 1.1 --sweep-rtt 2,200 --dry-run",
    "sudo ./run.sh --sweep-rtt 2,5,10,20,50,100,200": "./run.sh --http 1.1 --sweep-rtt 2,200 --dry-run",
    "sudo ./run.sh --paper": "./run.sh --paper --delays 10 --dry-run",
    # Recording needs the Internet; tests/record/test_fetch.py and test_replay_internet.py do it from one of their own.
    "./fetch.py --name myURLS": "./fetch.py --help",
    "sudo ./run.sh --name myURLS": "./run.sh --help",
    # Wants the table of myURLS in the observations; tests/course/test_submission.py packs.
    "./scripts/submission.sh gtlogin": "./scripts/submission.sh --help",
}
"""What takes minutes, and the form that shows in seconds that it works.

What has the same form is run once. Whatever is not here is run as it stands.
"""


def commands() -> list[str]:
    """Return the commands in the README's shell blocks, in order, without the remarks behind them."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", README, re.MULTILINE | re.DOTALL)
    lines = [re.split(r"\s+# ", line)[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_no_command_is_stale() -> None:
    assert set(QUICK) <= set(commands())


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
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
        done = ran(*typed(project, *words.split()), status=0)
        outputs[words] = done.stdout
    measured = outputs[QUICK["sudo ./run.sh"]]
    [row] = [line for line in measured.splitlines() if line.startswith("\t")]
    assert re.fullmatch(r"\t20\t\d+\.\d{3}\t\d+\.\d{3}\t-?\d+\.\d\d%", row), row
    assert len(list((project / "output-figures").glob("timing-*-20.png"))) == 1
    assert "synthetic" in measured
    observations = (project / "observations.txt").read_text()
    assert observations.startswith("what I saw\n")
    assert row in observations


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "output-figures" / "README.md",
         *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "data").glob("*.md"))]
LONGEST_LINE = 120
MOST_KB = 130
"""README, docs/*.md: what a reader can be asked to read."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_lines_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > LONGEST_LINE] == []
    linked = [*re.findall(r"\]\(((?!https?:)[^)#]*)#?([^)]*)\)", text),
              *((target, "") for target in re.findall(r"^\[[^]]+\]: (?!https?:)(\S+)$", text, re.MULTILINE))]
    for target, heading in linked:
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not heading or heading in headings_of(path), (target, heading)


def headings_of(page: Path) -> set[str]:
    """Return what links call the headings of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in lines
            if line.startswith("#")}


def test_the_house_keeps_its_docs_short_and_shows_every_picture() -> None:
    pages = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs") and page.name != "CHANGELOG.md"]
    assert sum(page.stat().st_size for page in pages) < MOST_KB * 1000
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [picture.name for picture in (ROOT / "docs").glob("*.png") if picture.name not in shown] == []
