"""experiments/all.sh: what it asks of run.sh (here one that measures nothing), what it keeps, and how it goes on."""

import shutil
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran

pytestmark = pytest.mark.root
RUN_SH = """#!/usr/bin/env bash
echo "$*" >>asked
case "$*" in *--dry-run*) exit 0 ;; esac
if [ "$1" != --resume ]; then
    rm -rf client && mkdir -p client serverlogs output-figures && touch output-figures/report.html
    printf '%s\\n' "$@" >client/run.options
fi
exit "$(sed -n "$(wc -l <asked)p" statuses)"
"""
SETTINGS = ("http-1.0", "http-1.0-predict", "http-1.1", "http-1.1-predict", "tls-1.1", "tls-1.1-predict", "tls-h2",
            "tls-h2-predict")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with all.sh in it, whose other programs do nothing but say so."""
    for name, text in {"run.sh": RUN_SH, "scripts/setup.sh": "#!/bin/sh\n", "scripts/make_pages.py": "#!/bin/sh\n",
                       "experiments/side_by_side.py": '#!/bin/sh\necho "table of $*"\n'}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    shutil.copy(ROOT / "experiments" / "all.sh", tmp_path / "experiments")
    return tmp_path


def run_all(project: Path, statuses: str, *options: str) -> tuple[int, str, list[str]]:
    """Type it while run.sh ends with these statuses; return its own, what it said, and what run.sh was asked."""
    (project / "asked").write_text("")
    (project / "statuses").write_text("\n".join(statuses))
    done = ran(project / "experiments" / "all.sh", *options)
    return done.returncode, done.stdout + done.stderr, (project / "asked").read_text().splitlines()


def test_each_setting_is_measured_once_and_all_stand_in_one_table(project: Path) -> None:
    status, said, asked = run_all(project, "0" * 8)
    assert (status, len(asked)) == (0, 8)
    assert asked[0] == "--name Paper --http 1.0 --delays 50"
    assert asked[7] == "--name PaperTLS --http h2 --predict --delays 50"
    assert said.splitlines()[-1] == f"table of {' '.join(f'footnotes/{setting}' for setting in SETTINGS)}"
    assert (project / "footnotes" / "tls-h2" / "output-figures" / "report.html").exists()
    assert run_all(project, "")[::2] == (0, [])
    assert run_all(project, "", "--delays", "10")[0] == 2


def test_wrong_options_end_it_and_results_of_another_run_are_not_taken_for_a_setting(project: Path) -> None:
    """With --dry-run nothing is measured: what was in client/ before became the results over HTTP/1.0."""
    assert run_all(project, "2", "--delays", "x")[0] == 2
    assert run_all(project, "", "--name", "Other")[::2] == (2, [])
    (project / "client").mkdir(exist_ok=True)
    (project / "client" / "run.options").write_text("--name\nmyURLS\n")
    status, said, asked = run_all(project, "0" * 8, "--dry-run")
    assert (status, len(asked)) == (2, 1)
    assert "http-1.0: nothing was measured" in said
    assert (project / "client" / "run.options").exists()
    assert not list((project / "footnotes").iterdir())
