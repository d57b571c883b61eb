"""The digest by which --resume and a sweep tell programs apart: it changes with what may change a number."""

import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.measure import resume
from tests.support.ran import ran

TFO = "from harness.measure import loads\n"
SOURCES = {**{f"harness/{room}/__init__.py": "" for room in resume.ROOMS}, "tfo.py": TFO,
           "harness/bootstrap.py": "", "harness/errors.py": "",
           "harness/measure/loads.py": '"""Loads."""\nLIMIT_S = 1\n"""In seconds."""\n',
           "harness/show/table.py": "A = 1\n",
           "harness/measure/page.js": "let a = '// 1'; // comment\n", "tfo-test/shim.c": "int a; /* one */\n"}


@pytest.mark.parametrize(("name", "text", "same"), [
    ("tfo.py", f'"""What it does."""\n# A remark.\n{TFO}', True),
    ("tfo.py", TFO + "A = 2\n", False),
    ("harness/measure/loads.py", "LIMIT_S = 1    # other words\n", True),
    ("harness/measure/loads.py", "LIMIT_S = 2\n", False),
    ("harness/measure/loads.py", "LIMIT_S = 1\n\n\ndef load():\n    return LIMIT_S\n", False),
    ("harness/system/started.py", "A = 2\n", False),
    ("harness/show/table.py", "A = 2\n", True),
    ("harness/measure/page.js", "/* other */ let a =\n  '// 1';\n", True),
    ("harness/measure/page.js", "let a = '// 2'; // comment\n", False),
    ("tfo-test/shim.c", "int a; // two\n", True),
    ("tfo-test/shim.c", "int b; /* one */\n", False),
    ("docs/results.md", "words", True)])
def test_the_digest_is_of_what_changes_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str,
                                               same: bool) -> None:
    monkeypatch.setattr(resume, "ROOT", tmp_path)

    def digest_of(sources: dict[str, str]) -> str:
        for path, content in sources.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(content)
        resume._digest_of_sources.cache_clear()
        return resume.program_digest()

    before = digest_of(SOURCES)
    assert (digest_of({name: text}) == before) == same
    resume._digest_of_sources.cache_clear()


def test_an_experiment_imports_nothing_of_other_rooms() -> None:
    loaded = "import tfo, sys; print(*{name.split('.')[1] for name in sys.modules if name.startswith('harness.')})"
    done = ran(sys.executable, "-c", loaded, status=0, cwd=ROOT)
    assert set(done.stdout.split()) <= {*resume.ROOMS, "bootstrap", "errors"}
