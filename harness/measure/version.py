"""Which program measures: a digest of those of its parts that decide how a load comes about.

Only what the programs do counts. Comments, docstrings and the layout of the lines are left out of the digest, and so
are modules that no program of an experiment imports: they change no number.
"""

import ast
import hashlib
import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from harness.bootstrap import ROOT

PROGRAMS = ("tfo.py", "tfo-test")
"""What an experiment starts. Its modules are found by what these import."""
MODULE = re.compile(r"harness(\.\w+)+", re.ASCII)
"""A module by its name; in a text it is one that is started (``python -m``)."""
COMMENTS = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|//[^\n]*|/\*.*?\*/""", re.DOTALL)
"""Comments of C and JavaScript, and the strings in which nothing is one."""
_one_parser = threading.Lock()
"""CPython 3.11 counts the depth of all threads' syntax trees together, and fails when two threads build one at once
(https://github.com/python/cpython/issues/106905); the tasks of a sweep's worker are threads."""


def program_digest() -> str:
    """Return the digest in hexadecimal; two programs that measure in the same way have the same."""
    with _one_parser:
        return _digest_of_sources()


@lru_cache(maxsize=1)
def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path, meaning in sorted(_sources()):
        digest.update(f"{path.relative_to(ROOT)}\0{meaning}\0".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[Path, str]]:
    """Give each source that an experiment uses, and what it does: Python as its syntax tree."""
    waiting = [path for name in PROGRAMS for path in _files(ROOT / name)]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            yield path, " ".join(COMMENTS.sub(lambda found: found[1] or " ", text).split())
            continue
        tree = ast.parse(text)
        names = _meant(tree)
        yield path, ast.dump(tree)
        found = {used for name in names for used in _files_of(name)} - seen
        seen |= found
        waiting += found


def _files(place: Path) -> list[Path]:
    """Return a program, or those of a folder, and what it has beside them in C and JavaScript."""
    return [path for path in (place.iterdir() if place.is_dir() else [place]) if path.suffix in (".py", ".js", ".c")]


def _meant(tree: ast.Module) -> set[str]:
    """Take out of `tree` the texts that are statements: docstrings, and those below a constant.

    Return the names of all modules that it may import or start, and of what it imports from them.
    """
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
        elif isinstance(body := getattr(node, "body", None), list):
            body[:] = [line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
                                                     and isinstance(line.value.value, str))]
    return names


def _files_of(name: str) -> Iterator[Path]:
    """Give the source of the project's module of that name, if there is one, and the JavaScript that lies beside it."""
    if MODULE.fullmatch(name) is None:
        return
    place = ROOT / name.replace(".", "/")
    for path in (place.with_suffix(".py"), place / "__init__.py", place.parent / "__init__.py"):
        if path.is_file():
            yield path
            yield from path.parent.glob("*.js")
