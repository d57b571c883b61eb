"""The house keeps its order: who may import whom is checked, and the two texts people begin with are short."""

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


IMPORT = re.compile(r"^ *(?:from|import) ([\w.]+)(?: import (\([^)]*\)|[^#\n]+))?", re.MULTILINE)


def modules_of(source: str) -> set[str]:
    """Return the modules that a source may import, each name behind "from ... import" among them."""
    return {name for module, names in IMPORT.findall(source)
            for name in (module, *(f"{module}.{each}" for each in re.findall(r"\w+", names)))}


def test_nobody_imports_a_program() -> None:
    """What two programs share stands in a module of its own. Tests may import what they test."""
    folders = ("", "benchmarks", "connie", "experiments", "scripts", "tfo-test")
    paths = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    programs = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths
                if '__name__ == "__main__"' in path.read_text()}
    assert {"tfo", "benchmarks.scale", "experiments.one_page"} <= programs
    packages = [path for folder in ("harness", "connie") for path in (ROOT / folder).rglob("*.py")]
    found = [f"{path.name} imports {program}" for path in {*paths, *packages}
             for program in programs & modules_of(path.read_text())]
    assert not found


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


def test_the_map_names_every_package() -> None:
    assert harness.__doc__
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert packages <= set(harness.__doc__.split())


def test_root_is_taken_at_few_places() -> None:
    places = {str(path.relative_to(ROOT / "harness")): path.read_text().count("with as_root()") +
              path.read_text().count(", as_root()") for path in (ROOT / "harness").rglob("*.py")}
    taken = {name: count for name, count in places.items() if count}
    assert sum(count for name, count in taken.items() if not name.startswith("sweep/")) <= MOST_PLACES_OF_ROOT
    named = (ROOT / "docs" / "security.md").read_text()
    assert [name for name in taken if name.rpartition("/")[2] not in named] == []


def test_a_late_machine_finds_what_judges_times() -> None:
    code = f"import {', '.join(LATE)}; print(harness.measure.rule.Limit(ms=1).of(1, 1))"
    assert ran(*LATE_PYTHON, "-c", code, status=0, cwd=ROOT).stdout == "inf\n"


def test_the_first_texts_are_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= LONGEST_README_BYTES
    assert len((ROOT / "tfo.py").read_text().splitlines()) <= LONGEST_TFO_LINES
