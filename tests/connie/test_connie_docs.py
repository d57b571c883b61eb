"""The examples of docs/connie-package.md, run against a server on loopback."""

import re
from pathlib import Path

import pytest

from tests.support.connie_echo import serving
from tests.support.connie_hosts import Names, names, refusing, silent

__all__ = ["names"]

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "connie-package.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(names: Names, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    with silent() as dead, refusing() as closed, serving("127.0.0.2") as alive:
        names.hosts["www.example.org"] = [alive] if "cached_dns_connect" in EXAMPLES[number] else [dead, closed, alive]
        names.hosts["dead.example.org"] = [closed]
        variables: dict[str, object] = {"__name__": f"example_{number}"}
        exec(compile(EXAMPLES[number], f"example {number}", "exec"), variables)
    assert variables.get("page", b"GET / ") == b"GET / "
    if "dead.example.org" in EXAMPLES[number]:
        assert capsys.readouterr().out == f"127.0.0.1 port {closed[1]} ECONNREFUSED\n"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 8
