"""Which program measures: a digest of those of its parts that decide how a load comes about.

Only what the programs do counts: comments, docstrings and the layout of the lines are left out of the digest. Rooms of
harness/ that no experiment imports change no number.
"""

import ast
import hashlib
import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from harness.bootstrap import ROOT

ROOMS = ("system", "files", "mirror", "network", "browser", "netlog", "analysis", "replay", "measure")
"""Those of harness/ that an experiment imports: the layers of pyproject.toml see to it that there are no others."""
PARTS = ("tfo.py", "tfo-test", "harness/bootstrap.py", "harness/errors.py", *(f"harness/{room}" for room in ROOMS))
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
    places = [ROOT / part for part in PARTS]
    for path in (path for place in places for path in (place.iterdir() if place.is_dir() else [place])):
        if path.suffix == ".py":
            yield path, ast.dump(_without_docstrings(ast.parse(path.read_text(encoding="utf-8"))))
        elif path.suffix in {".c", ".js"}:
            text = path.read_text(encoding="utf-8")
            yield path, " ".join(COMMENTS.sub(lambda found: found[1] or " ", text).split())


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Take out of `tree` the texts that are statements: docstrings, and those below a constant."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [line for line in body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
                                                     and isinstance(line.value.value, str))]
    return tree
