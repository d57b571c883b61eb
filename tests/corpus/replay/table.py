"""Prints the cases as the list of docs/replay.md: ``.venv/bin/python -m tests.corpus.replay.table``."""

import json
import textwrap
from pathlib import Path
from typing import Any

FILES = sorted(Path(__file__).parent.glob("*.json"))
TOPICS = {"bodies": "Bodies, methods", "kinds": "Kinds of requests", "order": "Order, loads, polls",
          "parts": "Parts of a body", "preflights": "Preflights (CORS)", "redirects": "Redirects",
          "stand-ins": "Stand-ins", "text-logs": "Recordings of 2013"}


def items() -> list[str]:
    """Return the lines of the list: an item for each file of cases."""
    titles = {file.stem: dict.fromkeys(map(_title, json.loads(file.read_text()))) for file in FILES}
    texts = (f"- **{TOPICS[topic]}**: {'; '.join(each)}." for topic, each in titles.items())
    wrapped = textwrap.TextWrapper(118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line for text in texts for line in wrapped.wrap(text)]


def _title(case: dict[str, Any]) -> str:
    """Return what variants of a case share: its name, and which real page has it."""
    name = case["name"].removeprefix("2013: ").partition(": ")[0]
    return f"{name} ({case['why']})" if case.get("why") else name


if __name__ == "__main__":
    print("\n".join(items()))
