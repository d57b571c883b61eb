"""The house keeps its order, and the two texts people begin with are short. Who may import whom: pyproject.toml."""

import ast
import re
import sys

import harness
from harness.bootstrap import ROOT
from tests.support.late_machine.sitecustomize import LATE
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import ran

LONGEST_README_BYTES = 6_000
LONGEST_TFO_LINES = 120
MOST_PLACES_OF_ROOT = 9
"""In tfo.py's modules; docs/security.md names them, and the two of sweeps."""


def test_nothing_of_the_environment_is_imported_before_it_is_entered() -> None:
    """A student's python3 has none of our libraries: a program first finds .venv's, then imports the rest."""
    programs = [path for path in ROOT.rglob("*.py") if ".venv" not in path.parts and path.parent.name != "harness"
                and "\nuse_project_python()" in path.read_text()]
    assert len(programs) > 15
    for path in programs:
        before = path.read_text().partition("\nuse_project_python()")[0]
        names = [node.module for node in ast.walk(ast.parse(before)) if isinstance(node, ast.ImportFrom)]
        ours = [name for name in names if name and name.partition(".")[0] not in sys.stdlib_module_names]
        assert ours == ["harness.bootstrap"], path


def test_root_is_taken_at_few_places_which_the_docs_name() -> None:
    places = {path.relative_to(ROOT / "harness"): len(re.findall(r"(?:with|,) as_root\(\)", path.read_text()))
              for path in (ROOT / "harness").rglob("*.py")}
    taken = {path: count for path, count in places.items() if count}
    assert 0 < sum(count for path, count in taken.items() if path.parts[0] != "sweep") <= MOST_PLACES_OF_ROOT
    named = (ROOT / "docs" / "security.md").read_text()
    assert [path for path in taken if path.name not in named] == []


def test_a_late_machine_finds_what_judges_times() -> None:
    code = f"import {', '.join(LATE)}; print(harness.measure.rule.Limit(ms=1).of(1, 1))"
    assert ran(*LATE_PYTHON, "-c", code, status=0, cwd=ROOT).stdout == "inf\n"


def test_the_first_texts_are_short_and_the_map_names_every_package() -> None:
    assert (ROOT / "README.md").stat().st_size <= LONGEST_README_BYTES
    assert len((ROOT / "tfo.py").read_text().splitlines()) <= LONGEST_TFO_LINES
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert packages <= set((harness.__doc__ or "").split())
