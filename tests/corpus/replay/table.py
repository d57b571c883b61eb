"""Prints the cases as the list of docs/replay.md: ``.venv/bin/python -m tests.corpus.replay.table``."""

import textwrap
from typing import Any

from tests.corpus.replay.cases import FILES, read_cases

TOPICS = {"bodies": "Bodies, methods", "kinds": "Kinds of requests", "order": "Order, loads, polls",
          "parts": "Parts of a body", "preflights": "Preflights (CORS)", "redirects": "Redirects",
          "stand-ins": "Stand-ins", "text-logs": "Recordings of 2013"}


def items() -> list[str]:
    """Return the lines of the list: an item for each file of cases."""
    texts = (f"- **{TOPICS[file.stem]}**: {'; '.join(dict.fromkeys(map(_title, read_cases(file))))}." for file in FILES)
    wrapped = textwrap.TextWrapper(118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line for text in texts for line in wrapped.wrap(text)]


def _title(case: dict[str, Any]) -> str:
    """Return what variants of a case share: its name, and which real page has it."""
    name = case["name"].removeprefix("2013: ").partition(": ")[0]
    return f"{name} ({case['why']})" if case.get("why") else name


if __name__ == "__main__":
    print("\n".join(items()))
