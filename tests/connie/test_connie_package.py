"""connie as a package: its README's examples, and what pip installs in an empty environment."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.connie_echo import serving
from tests.support.connie_hosts import Names, refusing, silent
from tests.support.ran import ran

CONNIE = Path(__file__).parent.parent.parent / "connie"
EXAMPLES = [(page.name, code) for page in (CONNIE / "README.md", CONNIE.parent / "docs" / "connie.md")
            for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)]


@pytest.mark.parametrize("number", range(8))
def test_example(names: Names, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(EXAMPLES) == 8
    page, code = EXAMPLES[number]
    with silent() as dead, refusing() as closed, serving("127.0.0.2") as alive:
        names.hosts["www.example.org"] = [alive] if "cached_dns_connect" in code else [dead, closed, alive]
        names.hosts["dead.example.org"] = [closed]
        variables: dict[str, object] = {"__name__": f"example_{number}"}
        exec(compile(code, f"{page}, example {number}", "exec"), variables)
    assert b"GET / " in variables.get("page", b"GET / ")  # type: ignore[operator]
    if "dead.example.org" in code:
        assert capsys.readouterr().out == f"127.0.0.1 port {closed[1]} ECONNREFUSED\n"


@pytest.mark.slow
def test_an_empty_environment_can_install_it(tmp_path: Path) -> None:
    """With the build tools of this environment: no test asks a registry. What is installed runs isolated, alone."""
    shutil.copytree(CONNIE, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__", "build"))
    done = ran(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps", "--target",
               tmp_path / "site", tmp_path / "source", status=0)
    installed = tmp_path / "site" / "connie"
    assert {"aio.py", "http.py", "py.typed", "bench"} <= {path.name for path in installed.iterdir()}
    assert (installed / "bench" / "dial.go").exists()
    assert not (installed / "lab").exists()
    code = (f"import runpy, sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import connie.aio, connie.http; "
            "sys.argv[1:] = ['127.0.0.1', '--rounds', '3']; runpy.run_module('connie.bench', run_name='__main__')")
    done = ran(sys.executable, "-I", "-S", "-c", code)
    assert (done.returncode, done.stdout.count("count 3, ")) == (0, 3), done.stderr
