"""Cases that stand in a file of JSON lines beside their test."""

import json
from pathlib import Path
from typing import Any


def cases(test: str, name: str) -> list[Any]:
    """Return what is in the file `name` beside that of a `test` (its __file__), a case a line."""
    return [json.loads(line) for line in Path(test).with_name(name).read_text(encoding="utf-8").splitlines()]
